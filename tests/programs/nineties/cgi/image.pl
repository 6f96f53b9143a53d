#!/usr/bin/perl
# A GIF of one pixel and all bytes after it.
binmode STDOUT;
$gif = pack("H*", "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b");
print "Content-type: image/gif\n", "Content-length: ", length($gif) + 256, "\n", "Pragma: no-cache\n", "Expires: Thu, 01 Jan 1970 00:00:00 GMT\n\n";
print $gif, map(pack("C", $_), 0 .. 255);
