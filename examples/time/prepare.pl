# Values in the text of a statement, or placeholders; prepared anew, cached, once
# Answers: the mod_perl guide, Performance Tuning, where it prepares statements with bound
# parameters, once or by prepare_cached.
# Learn: a statement with placeholders is prepared once for all values, and no value is ever read
# as SQL.

# results: equal

use strict;
use warnings;

use DBI ();
my $dbh = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1 });
$dbh->do('create table bar (foo text, baz integer primary key)');
$dbh->do('insert into bar values (?, ?)', undef, "foo $_", $_) for 1 .. 50;
my $once = $dbh->prepare('select foo from bar where baz = ?');

sub _found {
    my ($statement, @values) = @_;
    $statement->execute(@values);
    my ($foo) = $statement->fetchrow_array;
    $statement->finish;
    $foo;
}

sub in_the_text { _found($dbh->prepare('select foo from bar where baz = ' . 42)) }
sub placeholder { _found($dbh->prepare('select foo from bar where baz = ?'), 42) }
sub cached      { _found($dbh->prepare_cached('select foo from bar where baz = ?'), 42) }
sub prepared    { _found($once, 42) }
