package APR::PerlIO;

# `open my $file, '<:APR', $name, $pool`: a buffered file (xs/api/layers.c).

use strict;
use warnings;
use Mehari ();

sub PERLIO_LAYERS_ARE_ENABLED () { 1 }

1;

__END__

=head1 NAME

APR::PerlIO - files by the layer :APR

=head1 SYNOPSIS

    use APR::PerlIO ();
    open my $file, '<:APR', '/etc/hostname' or die $!;
    my $name = <$file>;

=head1 DESCRIPTION

The layer C<:APR> is a buffered file. A pool may follow the name: C<< open my $file, '<:APR', $name,
$pool >>. In a request, C<< open STDOUT, '>:Apache2', $r >> sends what is printed to STDOUT to the
response again.

=head1 FUNCTIONS

=over 4

=item PERLIO_LAYERS_ARE_ENABLED

Always 1.

=back

=head1 DIFFERENCES

The pool has no effect: the file closes with its handle.

=head1 SEE ALSO

L<PerlIO>, L<APR::Pool>.

=cut
