# Print a hash: keys, each, a slice
# Answers: Practical mod_perl, chapter 9, "Apache::Status and Measuring Code Memory Usage" (the
# module that prints %ENV).
# Learn: keys makes a list of names, each makes none. The list is sorted here, so that all print
# the same.

# results: equal

use strict;
use warnings;

my %env = map { ("NAME_$_" => "value $_") } 10 .. 40;

sub by_keys  { print map { "$_ => $env{$_}\n" } sort keys %env; return }
sub by_each {
    my @lines;
    while (my ($name, $value) = each %env) { push @lines, "$name => $value\n" } print sort @lines;
    return;
}
sub by_slice {
    my @names = sort keys %env;
    my @values = @env{@names};
    print "$names[$_] => $values[$_]\n" for 0 .. $#names;
    return;
}
