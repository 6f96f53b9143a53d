package Apache2::ConnectionUtil;

# $c->pnotes and $c->pnotes_kill are methods of Apache2::Connection.

use strict;
use warnings;
use Apache2::Connection ();

1;

__END__

=head1 NAME

Apache2::ConnectionUtil - notes of a connection

=head1 SYNOPSIS

    use Apache2::ConnectionUtil ();

    sub handler {
        my $r = shift;
        $r->connection->pnotes(visits => 1 + ($r->connection->pnotes('visits') // 0));
        return 0;
    }

=head1 DESCRIPTION

This module loads L<Apache2::Connection>, which has its methods.

=head1 METHODS OF THE CONNECTION

=over 4

=item pnotes([NAME, [VALUE]])

Notes of any kind: the hash, or the value of a name. A new value is returned.

=item pnotes_kill

Empties the notes.

=back

=head1 DIFFERENCES

The notes last only while this worker gets requests of the same connection.

=head1 SEE ALSO

L<Apache2::Connection>.

=cut
