#!/usr/bin/perl
# A report by format and write.
print "Content-type: text/plain\n\n";
$~ = "LINE"; $^ = "TOP"; $= = 20;
@stock = ("Camel:3:1200.5", "Saddle:12:80", "A very long name of a thing that must be cut:1:0.333", "Rope:1000:1");
foreach (@stock) { ($name, $number, $price) = split(/:/); $sum += $number * $price; write; }
$name = "Sum"; $number = ''; $price = $sum; write;
print "lines left: $-, page $%\n";
select(STDERR); $~ = "LINE"; select(STDOUT);
$text = "The quick brown fox jumps over the lazy dog, and again, and again, until the column is full and the text goes on to a next line.";
$~ = "TEXT"; write;
format TOP =
Name            Number      Price  @>>>
$%
--------------- ------ ----------
.
format LINE =
@<<<<<<<<<<<<<< @>>>>> @######.##
$name,          $number, $price
.
format TEXT =
~~ ^<<<<<<<<<<<<<<<<<<<<<<<
$text
.
