#!/usr/bin/perl
# What a browser uploads: its name, type and bytes.
use strict;
use warnings;
use CGI ();
$CGI::POST_MAX = 100_000;

my $q = CGI->new;
print $q->header('text/plain');
if (my $error = $q->cgi_error) {
    print "refused: $error\n";
    exit;
}
my $name   = $q->param('file');
my $handle = $q->upload('file') or do { print "no file\n"; exit };
binmode $handle;
my ($size, $sum) = (0, 0);
while (read $handle, my $piece, 4096) {
    $size += length $piece;
    $sum = ($sum + unpack '%32C*', $piece) % 65536;
}
print "$name ", $q->uploadInfo($name)->{'Content-Type'}, " $size bytes, sum $sum, note ", $q->param('note'), "\n";
