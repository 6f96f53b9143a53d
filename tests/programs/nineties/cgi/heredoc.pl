#!/usr/bin/perl
$who = $ENV{'REMOTE_ADDR'};
print <<`CMD`, <<"A", <<'B';
echo Content-type: text/plain; echo; echo from a shell
CMD
hello $who @{[ 1 + 2 ]}
A
no $interpolation @here
B
print <<"";
until an empty line

print "end\n";
write;
format STDOUT =
@<<<<<< @|||||| @>>>>>>
"left", "mid", "right"
.
__END__
never seen
