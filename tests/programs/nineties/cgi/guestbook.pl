#!/usr/bin/perl
# Signs a guestbook that is an HTML file: new entries go where the mark is.
$book = "$ENV{'DOCUMENT_ROOT'}/data/guestbook.html";
read(STDIN, $buffer, $ENV{'CONTENT_LENGTH'});
@pairs = split(/&/, $buffer);
foreach $pair (@pairs) {
    ($name, $value) = split(/=/, $pair);
    $value =~ tr/+/ /;
    $value =~ s/%([a-fA-F0-9][a-fA-F0-9])/pack("C", hex($1))/eg;
    $value =~ s/<!--(.|\n)*-->//g;
    $FORM{$name} = $value;
}
&no_comments unless $FORM{'comments'};
&no_name unless $FORM{'realname'};
if (!-e $book) { open(NEW, ">$book") || die "Can't Open $book: $!\n"; print NEW "<html><body>\n<!--begin-->\n</body></html>\n"; close(NEW); }
open(FILE, "$book") || die "Can't Open $book: $!\n";
@LINES = <FILE>;
close(FILE);
$SIZE = @LINES;
open(GUEST, ">$book") || die "Can't Open $book: $!\n";
for ($i = 0; $i <= $SIZE; $i++) {
    $_ = $LINES[$i];
    if (/<!--begin-->/) {
        print GUEST "<!--begin-->\n";
        $FORM{'comments'} =~ s/\cM\n/<br>\n/g;
        print GUEST "<b>$FORM{'comments'}</b><br>\n";
        print GUEST $FORM{'url'} ? "<a href=\"$FORM{'url'}\">$FORM{'realname'}</a>" : $FORM{'realname'};
        print GUEST " &lt;<a href=\"mailto:$FORM{'username'}\">$FORM{'username'}</a>&gt;" if $FORM{'username'};
        print GUEST "<hr>\n\n";
    }
    else { print GUEST $_; }
}
close(GUEST);
print "Location: /data/guestbook.html\n\n" if $FORM{'redirect'};
print "Content-Type: text/html\n\n";
print "<html><head><title>Thank You</title></head>\n";
print "<body><h1>Thank You For Signing The Guestbook</h1>\n";
print "Here is what you submitted:<p>\n<b>$FORM{'comments'}</b><br>\n$FORM{'realname'}\n</body></html>\n";
exit;
sub no_comments {
    print "Content-type: text/html\n\n";
    print "<html><head><title>No Comments</title></head>\n<body><h1>Your Comments appear to be blank</h1>\n</body></html>\n";
    exit;
}
sub no_name {
    print "Content-type: text/html\n\n";
    print "<html><head><title>No Name</title></head>\n<body><form method=POST action=\"$ENV{'SCRIPT_NAME'}\">Name: <input name=realname>\n";
    foreach $key (sort keys %FORM) { print "<input type=hidden name=\"$key\" value=\"$FORM{$key}\">\n"; }
    print "</form></body></html>\n";
    exit;
}
