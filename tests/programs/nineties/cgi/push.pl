#!/usr/bin/perl
# Server push.
$| = 1;
print "Content-type: multipart/x-mixed-replace;boundary=---ThisRandomString---\n\n";
print "---ThisRandomString---\n";
foreach $n (3, 2, 1) {
    print "Content-type: text/html\n\n<h2>$n ...</h2>\n";
    print "---ThisRandomString---\n";
    select(undef, undef, undef, 0.05);
}
print "Content-type: text/html\n\n<h2>Lift off</h2>\n---ThisRandomString-----\n";
