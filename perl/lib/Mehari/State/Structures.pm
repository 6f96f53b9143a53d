package Mehari::State::Structures;

# Mehari::State with values of any kind: text, numbers, undef and what Storable can freeze. The first byte of what is stored says which.
# Apache::ASP's state objects are these (Mehari::State::ApacheASP); scripts may tie to it as to Mehari::State.

use strict;
use warnings;
use parent 'Mehari::State';
use Storable ();

sub FETCH {
    my $bytes = $_[0]->SUPER::FETCH($_[1]);
    return undef unless defined $bytes && length $bytes;
    my $kind = substr $bytes, 0, 1, '';
    return $bytes if $kind eq 'b';
    return Storable::thaw($bytes) if $kind eq 's';
    return undef if $kind eq 'u';
    if ($kind eq 't') { utf8::decode($bytes); return $bytes }
    die "Mehari::State: a value of \"$_[1]\" was not written by this class\n";
}

sub STORE {
    my ($self, $key, $value) = @_;
    return $self->SUPER::STORE($key, 'u') unless defined $value;
    return $self->SUPER::STORE($key, 's' . Storable::nfreeze($value)) if ref $value;
    return $self->SUPER::STORE($key, "b$value") unless utf8::is_utf8($value);
    utf8::encode(my $bytes = $value);
    return $self->SUPER::STORE($key, "t$bytes");
}

1;
