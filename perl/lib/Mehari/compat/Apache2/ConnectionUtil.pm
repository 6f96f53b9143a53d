package Apache2::ConnectionUtil;

# Loads Apache2::Connection, which has the methods $c->pnotes and $c->pnotes_kill.

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

This module loads L<Apache2::Connection>, which has the methods below.

=head1 METHODS OF THE CONNECTION

=over 4

=item pnotes([NAME, [VALUE]])

Returns the hash of notes, or the note with this NAME. With a VALUE, it sets the note and returns
the VALUE.

=item pnotes_kill

Empties the notes.

=back

=head1 DIFFERENCES

The notes are lost when this worker (the process that runs the Perl code) gets a request of another
connection.

=head1 SEE ALSO

L<Apache2::Connection>.

=cut
