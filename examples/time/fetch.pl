# Fetch rows: bound columns, references, lists, all at once
# Answers: the mod_perl guide, Performance Tuning, where it fetches rows into bound columns.
# Learn: bound columns copy nothing. All rows at once need the memory of all rows.

# results: equal

use strict;
use warnings;

use DBI ();
my $dbh = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1 });
$dbh->do('create table goods (id integer, name text, price real)');
my $insert = $dbh->prepare('insert into goods values (?, ?, ?)');
$insert->execute($_, "name $_", $_ / 2) for 1 .. 50;
my $select = $dbh->prepare('select id, name, price from goods order by id');

sub bound {
    $select->execute;
    $select->bind_columns(\my ($id, $name, $price));
    my $sum = 0;
    $sum += $price while $select->fetch;
    return $sum;
}
sub reference {
    $select->execute;
    my $sum = 0;
    while (my $row = $select->fetchrow_arrayref) { $sum += $row->[2] } $sum;
}
sub list {
    $select->execute;
    my $sum = 0;
    while (my @row = $select->fetchrow_array) { $sum += $row[2] } $sum;
}
sub hash {
    $select->execute;
    my $sum = 0;
    while (my $row = $select->fetchrow_hashref) { $sum += $row->{price} } $sum;
}
sub all       { my $sum = 0; $sum += $_->[2] for @{ $dbh->selectall_arrayref($select) }; $sum }
