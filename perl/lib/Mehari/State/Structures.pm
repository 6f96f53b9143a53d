package Mehari::State::Structures;

# Mehari::State for values of any kind: text, numbers, undef and what Storable can freeze. The first
# stored byte gives the kind. Apache::ASP's state objects use it (Mehari::State::ApacheASP); scripts
# may tie to it as to Mehari::State.

use strict;
use warnings;
use parent 'Mehari::State';
use Storable ();

sub FETCH {
    my $bytes = $_[0]->SUPER::FETCH($_[1]);
    return defined $bytes ? thaw($bytes) : undef;
}

sub STORE { $_[0]->SUPER::STORE($_[1], freeze($_[2])) }

sub freeze {
    my ($value) = @_;
    return 'u' unless defined $value;
    return 's' . Storable::nfreeze($value) if ref $value;
    return "b$value" unless utf8::is_utf8($value);
    utf8::encode($value);
    return "t$value";
}

sub thaw {
    my ($bytes) = @_;
    my $kind = substr $bytes, 0, 1, '';
    return $bytes if $kind eq 'b';
    return Storable::thaw($bytes) if $kind eq 's';
    return undef if $kind eq 'u';
    if ($kind eq 't') { utf8::decode($bytes); return $bytes }
    die "Mehari::State: the value was not written by Mehari::State::Structures\n";
}

1;
