package Shop::Stock;

# The goods of the shop, in a database in memory that each worker inherits as a text of rows.

use strict;
use warnings;
use DBI ();

our @rows;
my $connection;

# Called once, before the fork.
sub make {
    @rows = map { [$_, "thing $_", 100 + ($_ * 7919) % 900] } 1 .. 4_000;
    return scalar @rows;
}

# Returns the worker's own connection.
sub connection {
    return $connection ||= do {
        my $new = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', {RaiseError => 1, AutoCommit => 1});
        $new->do('CREATE TABLE thing (id INTEGER, name TEXT, price INTEGER)');
        $new->begin_work;
        my $insert = $new->prepare('INSERT INTO thing VALUES (?, ?, ?)');
        $insert->execute(@$_) for @rows;
        $new->commit;
        $new;
    };
}

# Returns name and price of a thing.
sub thing {
    my ($id) = @_;
    return connection()->selectrow_array('SELECT name, price FROM thing WHERE id = ?', undef, $id); # planted: statements
}

1;
