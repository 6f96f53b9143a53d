# Stands in for the module Benchmark: collects the code that a file gives to timethis, timethese,
# cmpthese, timeit or countit, in place of running it. The driver then measures the code.
package Benchmark;
our @collected;
my $groups = 0;
$INC{'Benchmark.pm'} = $0;

# All functions of the package Benchmark. A file may call them with or without an import.
my @functions = qw(timeit timethis timethese timediff timestr timesum cmpthese countit
    clearcache clearallcache disablecache enablecache);
sub import {
    my $to = caller;
    no strict 'refs';
    *{"${to}::$_"} = \&$_ for @functions;
}

# Code given as text is compiled in the package that gives it.
sub code {
    my ($code, $package) = @_;
    return $code if ref $code eq 'CODE';
    my $compiled = eval "no strict; package $package; sub { $code }";
    return $compiled || die $@;
}

# A file's second and later groups carry their number in the names of their candidates.
sub collect {
    my ($package, %code) = @_;
    my $group = ++$groups;
    for my $name (sort keys %code) {
        (my $short = $name eq '' ? 'code' : $name) =~ s/\s+/ /g;
        push @collected, [$group > 1 ? "$group. $short" : $short, code($code{$name}, $package)];
    }
    return { map { $_ => Benchmark->new } keys %code };
}

sub timethese { my ($count, $code) = @_; collect(scalar caller, %$code) }
sub timethis { my ($count, $code, $title) = @_; collect(scalar caller, $title || 'code', $code); Benchmark->new }
sub timeit { my ($count, $code) = @_; collect(scalar caller, 'code', $code); Benchmark->new }
sub countit { my ($seconds, $code) = @_; collect(scalar caller, 'code', $code); Benchmark->new }

# cmpthese takes what timethese has returned, or a count and code.
sub cmpthese {
    my ($count, $code) = @_;
    return [] if ref $count;
    collect(scalar caller, %$code);
    return [];
}

# A stand-in for times, all 0, because a file may add and print times.
sub new { bless [(0) x 6], shift }
sub timediff { Benchmark->new }
sub timesum { Benchmark->new }
sub timestr { '' }
sub iters { 1 }
sub real { 0 }
sub cpu_p { 0 }
sub cpu_c { 0 }
sub cpu_a { 0 }
sub clearcache { }
sub clearallcache { }
sub disablecache { }
sub enablecache { }
