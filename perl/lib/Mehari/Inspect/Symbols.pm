package Mehari::Inspect::Symbols;

# Symbol tables, and the bytes of packages, subs and lines: the figures of B::TerseSize.

use strict;
use warnings;
use B ();
use Mehari::Inspect ();

# Returns the name, package and place of a sub.
sub origin {
    my ($code) = @_;
    my $sub  = B::svref_2object($code);
    my $glob = eval { $sub->GV };
    my $package = $glob && $glob->can('STASH') ? eval { $glob->STASH->NAME } : undef;
    my $start = $sub->can('START') ? $sub->START : undef;
    my $line  = $start && $start->can('line') ? $start->line : 0;
    return ($package // '', $sub->XSUB ? 'XS' : $line ? ($sub->FILE // '') . ":$line" : $sub->FILE // '');
}

# Returns [name, code, package, place] of each sub in a symbol table. `all`: imported ones, too.
sub _subs {
    my ($package, $symbols, $all) = @_;
    my @subs;
    for my $name (sort grep { !/::\z/ } keys %$symbols) {
        my $code = Mehari::Inspect::code_in($symbols, $name) or next;
        my ($from, $place) = origin($code);
        push @subs, [ $name, $code, $from, $place ] if $all || $from eq $package || $from eq '';
    }
    return @subs;
}

sub bytes_of_code {
    my ($code, $seen) = @_;
    my $sum = Mehari::Inspect::_pad($code, $seen);
    my @lines = Mehari::Inspect::_ops($code);
    while (my (undef, undef, undef, $bytes) = splice @lines, 0, 4) { $sum += $bytes }
    return $sum;
}

# Returns references to the variables of a symbol's glob, by their kinds.
sub _variables {
    my ($entry) = @_;
    return unless ref $entry eq 'GLOB';
    # A variable may be blessed into a class whose operators die, or tied to one.
    no overloading;
    return map {
        my $held = *{$entry}{$_};
        defined $held && ($_ ne 'SCALAR' || eval { defined $$held }) ? [ lc, $held ] : ();
    } qw(SCALAR ARRAY HASH);
}

sub _bytes_of_variables {
    my ($symbols, $seen) = @_;
    my $sum = 0;
    for my $name (grep { !/::\z/ } keys %$symbols) {
        $sum += Mehari::Inspect::_bytes($_->[1], $seen) for _variables(\$symbols->{$name});
    }
    return $sum;
}

sub bytes_of_package {
    my ($package, $symbols, $seen) = @_;
    my $sum = _bytes_of_variables($symbols, $seen);
    for my $sub (_subs($package, $symbols)) { $sum += bytes_of_code($sub->[1], $seen) }
    return $sum;
}

sub symbols {
    my ($package) = @_;
    $package //= 'main';
    my $symbols = Mehari::Inspect::package_of($package);
    my (@rows, %seen);
    for my $name (sort keys %$symbols) {
        next if $name eq 'main::' || $name =~ /\A_</;
        if ($name =~ /::\z/) {
            push @rows, [ _below($package, $name), 'package', '', '', undef ];
            next;
        }
        my $code = Mehari::Inspect::code_in($symbols, $name);
        if ($code) {
            my ($from, $place) = origin($code);
            my $is_own = $from eq $package || $from eq '';
            push @rows, [ "${package}::$name", $is_own ? 'sub' : 'imported sub', $is_own ? '' : $from, $place, bytes_of_code($code, \%seen) ];
        }
        push @rows, _variable_rows($package, $name, \$symbols->{$name}, \%seen);
    }
    return { title => "Symbols of $package", rows => \@rows, columns => [
        { name => 'Symbol', kind => 'symbol' }, { name => 'Kind' }, { name => 'From' }, { name => 'Place' }, { name => 'Bytes', kind => 'bytes' } ] };
}

sub _below {
    my ($package, $name) = @_;
    $name =~ s/::\z//;
    return $package eq 'main' ? $name : "${package}::$name";
}

my %SIGILS = (scalar => '$', array => '@', hash => '%');

sub _variable_rows {
    my ($package, $name, $entry, $seen) = @_;
    my @rows = map { my ($kind, $held) = @$_; [ "$SIGILS{$kind}${package}::$name", $kind, '', '', Mehari::Inspect::_bytes($held, $seen) ] } _variables($entry);
    push @rows, [ "${package}::$name", 'file handle', '', '', undef ] if ref $entry eq 'GLOB' && *{$entry}{IO};
    return @rows;
}

# ---- sizes ----

sub sizes {
    my ($name) = @_;
    return _sizes_of_packages() unless defined $name;
    my $symbols = eval { Mehari::Inspect::package_of($name) };
    return _sizes_of_subs($name, $symbols) if $symbols && grep { Mehari::Inspect::code_in($symbols, $_) } keys %$symbols;
    return _sizes_of_lines($name) if $name =~ /::/ && eval { Mehari::Inspect::code_of($name) };
    return _sizes_of_subs($name, $symbols) if $symbols;
    die "the process has no package and no sub `$name`\n";
}

sub _all_packages {
    my ($package, $visited, $found) = @_;
    my $symbols = Mehari::Inspect::package_of($package);
    return if $visited->{$symbols}++;
    push @$found, [ $package, $symbols ];
    for my $name (sort grep { /\A\w+::\z/ } keys %$symbols) {
        eval { _all_packages(_below($package, $name), $visited, $found) };
    }
    return;
}

sub _sizes_of_packages {
    my (@found, @rows, %seen);
    _all_packages('main', {}, \@found);
    for my $package (@found) {
        my ($name, $symbols) = @$package;
        my ($code, $count, $ops) = (0, 0, 0);
        for my $sub (_subs($name, $symbols)) {
            $count++;
            $code += bytes_of_code($sub->[1], \%seen);
            my @lines = Mehari::Inspect::_ops($sub->[1]);
            while (my (undef, undef, $number) = splice @lines, 0, 4) { $ops += $number }
        }
        my $variables = _bytes_of_variables($symbols, \%seen);
        push @rows, [ $name, $count, $ops, $code, $variables, $code + $variables ] if $code + $variables;
    }
    return { title => 'Bytes by package', rows => \@rows, columns => [
        { name => 'Package', kind => 'size' }, { name => 'Subs', kind => 'number' }, { name => 'Ops', kind => 'number' },
        { name => 'Code', kind => 'bytes' }, { name => 'Variables', kind => 'bytes' }, { name => 'Sum', kind => 'bytes' } ], note => _note() };
}

sub _note { return 'Only perl\'s own structures count. What malloc adds to them is not counted.' }

sub _sizes_of_subs {
    my ($package, $symbols) = @_;
    my (@rows, %seen);
    for my $sub (_subs($package, $symbols)) {
        my ($name, $code, undef, $place) = @$sub;
        my ($ops, $bytes, @lines) = (0, 0, Mehari::Inspect::_ops($code));
        while (my (undef, undef, $count, $size) = splice @lines, 0, 4) { $ops += $count; $bytes += $size }
        my $pad = Mehari::Inspect::_pad($code, \%seen);
        push @rows, [ "${package}::$name", $place, $ops, $bytes, $pad, $bytes + $pad ];
    }
    return { title => "Bytes of $package by sub", rows => \@rows, columns => [
        { name => 'Sub', kind => 'size' }, { name => 'Place' }, { name => 'Ops', kind => 'number' }, { name => 'Bytes of ops', kind => 'bytes' },
        { name => 'Variables and constants', kind => 'bytes' }, { name => 'Sum', kind => 'bytes' } ], note => _note() };
}

sub _sizes_of_lines {
    my ($name) = @_;
    my @lines = Mehari::Inspect::_ops(Mehari::Inspect::code_of($name));
    my (%sum, @order);
    while (my ($file, $line, $count, $bytes) = splice @lines, 0, 4) {
        my $key = $line ? "$file:$line" : 'the sub itself';
        push @order, $key unless $sum{$key};
        $sum{$key}[0] += $count;
        $sum{$key}[1] += $bytes;
    }
    return { title => "Bytes of $name by line", rows => [ map { [ $_, @{ $sum{$_} } ] } @order ], columns => [
        { name => 'Line' }, { name => 'Ops', kind => 'number' }, { name => 'Bytes', kind => 'bytes' } ], note => _note() };
}

1;

__END__

=head1 NAME

Mehari::Inspect::Symbols - internal

=head1 DESCRIPTION

This module is internal to the server: it shows symbol tables and sizes for
C<mehari inspect>.

=cut
