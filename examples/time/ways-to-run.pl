# A script as a process, compiled for each request, compiled once
# Answers: "ApacheCon '06 : CGI to mod_perl 2.0, fast".
# Learn: the start of perl is the largest part, the compilation the next. `mehari explain FILE`
# tells which way a script can take.

# Milliseconds of a request, from the document's 5.5, 83 and 156 requests a second.
# published: cgi 181.8
# published: perlrun 12.05
# published: registry 6.41
# clock: wall
# results: equal

use strict;
use warnings;

my $script = 'my $counter = 0; $counter++; "counted $counter"';
my $compiled = eval "sub { $script }" or die $@;

sub cgi {
    open my $perl, '-|', $^X, '-e', "print do { $script }" or die $!;
    local $/;
    scalar <$perl>;
}
sub perlrun  { my $code = eval "sub { $script }" or die $@; $code->() }
sub registry { my $text; $text = $compiled->(); $text }
