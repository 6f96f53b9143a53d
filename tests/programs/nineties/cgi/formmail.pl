#!/usr/bin/perl
# Mails a form by a pipe to sendmail.
$mailprog = "$ENV{'DOCUMENT_ROOT'}/../bin/sendmail -t -oi";
@referers = ('127.0.0.1', 'example.org');
&check_url; &get_date; &parse_form; &check_required; &send_mail; &return_html;
sub check_url {
    local ($check_referer) = 0;
    if ($ENV{'HTTP_REFERER'}) {
        foreach $referer (@referers) { if ($ENV{'HTTP_REFERER'} =~ m|https?://([^/]*)$referer|i) { $check_referer = 1; last; } }
    } else { $check_referer = 1; }
    if ($check_referer != 1) { &error('bad_referer') }
}
sub get_date {
    @days = ('Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday');
    ($sec, $min, $hour, $mday, $mon, $year, $wday) = (localtime(86400 * 300))[0, 1, 2, 3, 4, 5, 6];
    $year += 1900;
    $date = "$days[$wday], $mday.$mon.$year at $hour\:$min";
}
sub parse_form {
    local ($name, $value);
    if ($ENV{'REQUEST_METHOD'} eq 'GET') { @pairs = split(/&/, $ENV{'QUERY_STRING'}); }
    elsif ($ENV{'REQUEST_METHOD'} eq 'POST') { read(STDIN, $buffer, $ENV{'CONTENT_LENGTH'}); @pairs = split(/&/, $buffer); }
    else { &error('request_method') }
    foreach $pair (@pairs) {
        local ($name, $value) = split(/=/, $pair);
        $name =~ tr/+/ /; $name =~ s/%([a-fA-F0-9][a-fA-F0-9])/pack("C", hex($1))/eg;
        $value =~ tr/+/ /; $value =~ s/%([a-fA-F0-9][a-fA-F0-9])/pack("C", hex($1))/eg;
        if (defined($Config{$name})) { $Config{$name} = $value; }
        else {
            if ($Form{$name} ne '') { $Form{$name} = "$Form{$name}, $value"; }
            else { push(@Field_Order, $name); $Form{$name} = $value; }
        }
    }
}
sub check_required { foreach $require ('recipient', 'email') { push(@error, $require) if !$Form{$require}; } &error('missing_fields', @error) if @error; }
sub send_mail {
    open(MAIL, "|$mailprog") || &error('mailer');
    print MAIL "To: $Form{'recipient'}\n";
    print MAIL "From: $Form{'email'}\n";
    print MAIL "Subject: WWW Form Submission\n\n";
    print MAIL "Below is the result of your feedback form, on $date\n", "-" x 75, "\n\n";
    foreach $field (@Field_Order) { print MAIL "$field: $Form{$field}\n\n"; }
    print MAIL "-" x 75, "\n\n";
    close(MAIL);
    $status = $? >> 8;
}
sub return_html {
    print "Content-type: text/html\n\n<html>\n <head>\n  <title>Thank You</title>\n </head>\n <body>\n";
    print "Mailer said $status.<dl>\n";
    foreach $field (@Field_Order) { print "<dt>$field<dd>$Form{$field}\n"; }
    print "</dl></body>\n</html>\n";
}
sub error {
    local ($error, @error_fields) = @_;
    local ($host, $missing_field, $missing_field_list);
    print <<"(END ERROR HTML)";
Content-type: text/html

<html>
 <head>
  <title>Error: $error</title>
 </head>
 <body>@error_fields</body>
</html>
(END ERROR HTML)
    exit;
}
