#!/usr/bin/perl
require "./cgi-lib.pl";
&ReadParse(*input);
print &PrintHeader;
print &HtmlTop("Your form");
print "There were ", scalar(keys %input), " fields, by $ENV{'REQUEST_METHOD'}.\n";
print &PrintVariables(*input);
&CgiDie("No name", "Please fill in a name.") if $input{'die'};
print &HtmlBot;
