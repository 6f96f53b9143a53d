package APR::Table;

# Keeps names and values in order, such as header fields. The case of a name does not matter, and a
# name may have several values. As in mod_perl, a table is an object and a tied hash at once. The
# methods are in XS (xs/api/table.c).

use strict;
use warnings;
use Mehari ();

1;

__END__

=head1 NAME

APR::Table - names and values, in order and in any case

=head1 SYNOPSIS

    use APR::Table ();
    my $table = APR::Table::make(undef, 10);
    $table->set('Content-Type' => 'text/plain');
    $table->add('Set-Cookie' => $_) for 'a=1', 'b=2';
    my @cookies = $table->get('set-cookie');
    $table->{Vary} = 'Accept';
    $table->do(sub { my ($name, $value) = @_; print "$name: $value\n"; 1 });

=head1 DESCRIPTION

A table holds header fields, notes and the like. A name may occur several times. Names are
compared without regard to case. A table is an object and a tied hash at once.

=head1 FUNCTIONS

=over 4

=item make(POOL, SIZE)

Makes a table. Neither argument has an effect.

=back

=head1 METHODS

=over 4

=item set(NAME, VALUE)

Replaces all values of a name by one value. The entry keeps its place and the spelling of its name.

=item add(NAME, VALUE)

Adds a value.

=item merge(NAME, VALUE)

Appends the value to the first value of the name, after a comma and a blank.

=item get(NAME)

Returns the first value, or undef. In list context it returns all values.

=item unset(NAME), clear

Remove a name, or everything.

=item do(CODE, [NAMES])

Calls the code with the name and the value of each entry, until a call returns false. If there are
NAMES, it calls the code only for entries with these names, and here the case matters. Returns
whether all calls returned true.

=item copy([POOL])

Returns a new table with the same entries.

=item overlay(TABLE, [POOL])

Returns a new table with the entries of the argument, then the entries of this table.

=item overlap(TABLE, FLAG)

Adds the entries of another table, then does the same as C<compress>.

=item compress(FLAG)

Leaves one entry for each name. OVERLAP_TABLES_MERGE joins the values of a name. OVERLAP_TABLES_SET
keeps the last value.

=item FETCH, STORE, DELETE, EXISTS, CLEAR, FIRSTKEY, NEXTKEY

perl calls these methods for C<< $table->{NAME} >> and for loops over the keys. A name with several
values appears several times among the keys. C<each> and C<values> return the value that belongs to
the entry.

=back

=head1 ERRORS

A method dies if its object is no table.

=head1 DIFFERENCES

A table can be used after its request has ended. A new thread gets a copy of each table.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<APR::Pool>, L<Apache::Table>.

=cut
