package Mehari::Constants;

# Defines and exports the constants of Apache2::Const, APR::Const and ModPerl::Const, by name and by
# group. Loading one of these modules defines all its constants. With `-compile` as its first word,
# `use` exports nothing.

use strict;
use warnings;
use Carp ();

our @CARP_NOT = qw(Apache2::Const APR::Const ModPerl::Const);

# namespace => group => [names]
my %groups;

# Defines the constants of a namespace from "group: NAME=value ..." lines.
sub define {
    my ($namespace, $text) = @_;
    no strict 'refs';
    my $stash = \%{"${namespace}::"};
    for my $line (split /\n/, $text) {
        my ($group, $pairs) = $line =~ /\A(\w+): (.*)\z/ or die "`$line` is no group of constants\n";
        for my $pair (split / /, $pairs) {
            my ($name, $value) = split /=/, $pair, 2;
            push @{ $groups{$namespace}{$group} }, $name;
            constant($stash, $namespace, $name, $value =~ /\A-?\d+\z/ ? $value + 0 : $value);
        }
    }
    return;
}

# Adds a constant whose value cannot be written in a line of `define`.
sub add {
    my ($namespace, $group, $name, $value) = @_;
    no strict 'refs';
    push @{ $groups{$namespace}{$group} }, $name;
    constant(\%{"${namespace}::"}, $namespace, $name, $value);
    return;
}

# Adds the names of another group to a group.
sub extend {
    my ($namespace, $group, $other) = @_;
    push @{ $groups{$namespace}{$group} }, @{ $groups{$namespace}{$other} };
    return;
}

# Defines one constant. A reference in the symbol table is perl's short form of a constant sub.
sub constant {
    my ($stash, $namespace, $name, $value) = @_;
    if (exists $stash->{$name}) {
        no strict 'refs';
        no warnings 'redefine';
        my $copy = $value;
        *{"${namespace}::$name"} = sub () { $copy };
    }
    else {
        Internals::SvREADONLY($value, 1);
        $stash->{$name} = \$value;
        mro::method_changed_in($namespace);
    }
    return;
}

# Returns the names of constants for words. A word is a name, or `:group` for all names of a group.
sub names {
    my ($namespace, @words) = @_;
    return map {
        my $word = s/\A&//r; # Exporter allows `&` before the name of a sub
        if ($word =~ /\A:(\w+)\z/) {
            my $group = $groups{$namespace}{$1}
                or Carp::croak("$namespace has no group `$word`; it has " . join ', ', map { ":$_" } sort keys %{ $groups{$namespace} });
            @$group;
        }
        else {
            $namespace->can($word) && $word !~ /\A(?:import|compile)\z/ or Carp::croak("$namespace has no constant `$word`");
            $word;
        }
    } @words;
}

# Exports constants to the package that says `use`. Exports nothing if the first word is -compile.
sub import_into {
    my ($namespace, $caller, @words) = @_;
    my $compile_only = @words && $words[0] =~ /\A-compile\z/ && shift @words;
    my @names = names($namespace, @words);
    return if $compile_only;
    no strict 'refs';
    no warnings 'redefine';
    *{"${caller}::$_"} = \&{"${namespace}::$_"} for @names;
    return;
}

require mro;

1;

__END__

=head1 NAME

Mehari::Constants - internal

=head1 DESCRIPTION

This module is internal to the server: it defines the constants of L<Apache2::Const>,
L<APR::Const> and L<ModPerl::Const>.

=cut
