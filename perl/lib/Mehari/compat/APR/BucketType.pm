package APR::BucketType;

# Names the type of a bucket.

use strict;
use warnings;

sub of { my ($class, $name) = @_; return bless { name => $name }, $class }

sub name { return $_[0]{name} }

1;

__END__

=head1 NAME

APR::BucketType - the type of a bucket

=head1 SYNOPSIS

    use APR::Bucket ();
    print APR::Bucket::eos_create(undef)->type->name;    # EOS

=head1 DESCRIPTION

C<< $bucket->type >> returns an object of this class.

=head1 METHODS

=over 4

=item of(NAME)

A class method. Returns the type with this name.

=item name

Returns the name: C<EOS>, C<FLUSH>, C<TRANSIENT> or C<mod_perl SV bucket>.

=back

=head1 DIFFERENCES

No other types exist.

=head1 SEE ALSO

L<APR::Bucket>.

=cut
