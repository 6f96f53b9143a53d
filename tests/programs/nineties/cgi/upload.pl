#!/usr/bin/perl
# Takes an upload apart by hand, line by line, as one did before CGI.pm.
binmode(STDIN); binmode(STDOUT);
($boundary) = $ENV{'CONTENT_TYPE'} =~ /boundary="?([^";]+)/;
if (!$boundary) { print "Status: 400 Bad Request\nContent-type: text/plain\n\nnot an upload\n"; exit 0; }
$total = 0;
while (<STDIN>) {
    $total += length;
    if (/^--\Q$boundary\E(--)?\r?\n?$/) {
        $last = $1;
        if (defined $name) { $data{$name} =~ s/\r\n$//; }
        last if $last;
        undef $name;
        $inhead = 1;
    } elsif ($inhead) {
        if (/^\r?\n$/) { $inhead = 0; }
        elsif (/^Content-Disposition:.*\bname="([^"]*)"/i) { $name = $1; push(@names, $name); $file{$name} = $1 if /filename="([^"]*)"/i; }
        elsif (/^Content-Type:\s*(\S+)/i) { $type{$name} = $1; }
    } else { $data{$name} .= $_; }
}
print "Content-type: text/plain\r\n\r\n";
foreach (@names) {
    $sum = unpack("%32C*", $data{$_});
    printf "%-10s %7d bytes, sum %10d %s %s\n", $_, length($data{$_}), $sum, $file{$_}, $type{$_};
}
print "read $total of $ENV{'CONTENT_LENGTH'}\n";
