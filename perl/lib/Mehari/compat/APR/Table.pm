package APR::Table;

# A table of header fields: names in any case, several values per name, in order. It is an object
# and a tied hash at once, as in mod_perl. All of it is XS (xs/api/table.c).

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

Replaces all values of a name by one. The first spelling and place stay.

=item add(NAME, VALUE)

Adds a value.

=item merge(NAME, VALUE)

Adds the value to the first one, with a comma and a blank between.

=item get(NAME)

The first value, or undef; in list context all values.

=item unset(NAME), clear

Remove a name, or everything.

=item do(CODE, [NAMES])

Calls the code with name and value of each entry, or of those with these names, until it returns
false. Names are compared with regard to case here. Returns whether all calls returned true.

=item copy([POOL])

A new table with the same entries.

=item overlay(TABLE, [POOL])

A new table: the entries of the argument, then those of this table.

=item overlap(TABLE, FLAG)

Adds the entries of another table, then works as compress.

=item compress(FLAG)

Makes each name unique. With OVERLAP_TABLES_MERGE the values are joined, with OVERLAP_TABLES_SET
the last one stays.

=item FETCH, STORE, DELETE, EXISTS, CLEAR, FIRSTKEY, NEXTKEY

For C<< $table->{NAME} >> and loops over the keys. A repeated name appears as often as it is
there, and C<each> and C<values> give each its own value.

=back

=head1 ERRORS

A method dies for an object that is no table.

=head1 DIFFERENCES

A table of a request that ended stays usable. A thread gets a copy.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<APR::Pool>, L<Apache::Table>.

=cut
