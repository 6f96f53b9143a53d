package Apache::Table;

use strict;
use warnings;
use Apache ();
use APR::Table ();

# Apache::Table->new($r, $size) returns an APR::Table.
sub new { my ($class, $r, $size) = @_; return APR::Table::make(undef, $size || 10) }

1;

__END__

=head1 NAME

Apache::Table - mod_perl 1's tables

=head1 SYNOPSIS

    use Apache::Table ();

    sub handler { my $r = shift; my $table = Apache::Table->new($r); $table->set(a => 1); return 0 }

=head1 DESCRIPTION

The methods are those of L<APR::Table>.

=head1 CLASS METHODS

=over 4

=item new(R, [SIZE])

Returns an APR::Table. Neither argument has an effect.

=back

=head1 DIFFERENCES

The object is an APR::Table and no Apache::Table.

=head1 SEE ALSO

L<APR::Table>.

=cut
