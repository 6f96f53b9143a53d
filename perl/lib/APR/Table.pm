package APR::Table;

# A table of header fields: names without regard to case, several values a name, in order. An object
# and a tied hash at once, as in mod_perl.

use strict;
use warnings;

# The outer hash is tied to the inner object, which holds [name, value] pairs.
sub new_table {
    my ($class) = @_;
    tie my %table, 'APR::Table::Pairs';
    return bless \%table, $class;
}

sub _pairs { return tied %{ $_[0] } }

sub pairs { return map { @$_ } @{ _pairs($_[0]) } }

sub get {
    my ($self, $name) = @_;
    my $wanted = lc $name;
    my @values = map { $_->[1] } grep { lc $_->[0] eq $wanted } @{ _pairs($self) };
    return wantarray ? @values : $values[0];
}

sub add { my ($self, $name, $value) = @_; push @{ _pairs($self) }, [$name, "$value"]; return }

sub set { my ($self, $name, $value) = @_; _pairs($self)->STORE($name, $value); return }

sub unset { my ($self, $name) = @_; _pairs($self)->DELETE($name); return }

sub clear { my ($self) = @_; _pairs($self)->CLEAR; return }

# Calls the code for each pair until it answers false; with names, only for those.
sub do {
    my ($self, $code, @names) = @_;
    my %wanted = map { lc($_) => 1 } @names;
    for my $pair (@{ _pairs($self) }) {
        next if @names && !$wanted{ lc $pair->[0] };
        $code->(@$pair) or return 0;
    }
    return 1;
}

package APR::Table::Pairs;

sub TIEHASH { return bless [], shift }

sub FETCH {
    my ($self, $name) = @_;
    my $wanted = lc $name;
    for my $pair (@$self) { return $pair->[1] if lc $pair->[0] eq $wanted }
    return undef;
}

sub STORE {
    my ($self, $name, $value) = @_;
    my ($wanted, $stored) = (lc $name, 0);
    my @kept;
    for my $pair (@$self) {
        if (lc $pair->[0] ne $wanted) { push @kept, $pair }
        elsif (!$stored++) { push @kept, [$name, "$value"] }
    }
    push @kept, [$name, "$value"] unless $stored;
    @$self = @kept;
}

sub DELETE { my ($self, $name) = @_; my $wanted = lc $name; @$self = grep { lc $_->[0] ne $wanted } @$self }
sub CLEAR  { my ($self) = @_; @$self = () }
sub EXISTS { my ($self, $name) = @_; my $wanted = lc $name; return scalar grep { lc $_->[0] eq $wanted } @$self }
sub SCALAR { return scalar @{ $_[0] } }
sub FIRSTKEY { my ($self) = @_; $self->[0] ? $self->[0][0] : undef }

sub NEXTKEY {
    my ($self, $last) = @_;
    my (%seen, $found);
    my $wanted = lc $last;
    for my $pair (@$self) {
        my $name = lc $pair->[0];
        next if $seen{$name}++;
        return $pair->[0] if $found;
        $found = $name eq $wanted;
    }
    return undef;
}

1;
