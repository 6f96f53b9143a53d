package Mehari::State::Structures;

# Ties a shared hash as Mehari::State does, but for values of any kind: text, numbers, undef and
# what Storable can freeze. The first stored byte gives the kind. Scripts and
# Mehari::State::ApacheASP tie hashes to this class. Mehari::Cache calls `freeze` and `thaw`.

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

__END__

=head1 NAME

Mehari::State::Structures - a shared hash for values of any kind

=head1 SYNOPSIS

    use Mehari::State::Structures;
    tie my %hash, 'Mehari::State::Structures', '/var/lib/site/users';
    $hash{ann} = { name => "Ann \x{263a}", visits => [1, 2, 3] };
    my $visits = @{ $hash{ann}{visits} };

=head1 DESCRIPTION

This class is L<Mehari::State> for references, undef, bytes and text. The arguments of C<tie>
and all other methods are those of Mehari::State. Storable freezes references.

=head1 FUNCTIONS

=over 4

=item freeze(VALUE)

Returns the bytes that are stored for a value: a letter for its kind, then the value.

=item thaw(BYTES)

Returns the value from which C<freeze> made the bytes. Dies for bytes that C<freeze> did not make.

=back

=head1 LIMITS

A fetched structure is a copy: C<$hash{ann}{visits} = []> changes the copy and not the store.
Fetch the value, change it, and store it again. Take the C<Lock> before if other processes do so
too. Objects must be such that Storable can freeze them. Only trusted programs may write to the
store, because thawing an object can run code of its class.

=head1 SEE ALSO

L<Mehari::State>, L<Storable>, F<docs/reference/state.md>.

=cut
