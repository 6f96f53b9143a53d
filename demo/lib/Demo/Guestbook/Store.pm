# The guestbook's SQLite database: made at the first use, written by one process at a time, read by
# all.
package Demo::Guestbook::Store;
use strict;
use warnings;
use DBI ();
use File::Basename qw(dirname);

my $WAIT_MILLISECONDS = 5_000;
my $ENTRIES_KEPT      = 1_000;

my @TABLES = (
    'CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, name TEXT NOT NULL, message TEXT NOT NULL, written TEXT NOT NULL)',
    'CREATE TABLE IF NOT EXISTS secret (value TEXT NOT NULL)',
);

sub open {
    my ($class, $file) = @_;
    my $folder = dirname($file);
    # Another process may make the database at the same time.
    -d $folder or mkdir $folder, 0700 or -d $folder or die "cannot create $folder: $!\n";
    my $database = DBI->connect("dbi:SQLite:dbname=$file", '', '',
        {RaiseError => 1, PrintError => 0, sqlite_unicode => 1, AutoInactiveDestroy => 1});
    $database->sqlite_busy_timeout($WAIT_MILLISECONDS);
    my $self = bless {database => $database}, $class;
    $self->prepare_tables unless $database->selectrow_array(q(SELECT 1 FROM sqlite_master WHERE name = 'secret'));
    return $self;
}

# BEGIN IMMEDIATE: if two processes make the database, one waits and finds it complete.
sub prepare_tables {
    my ($self) = @_;
    my $database = $self->{database};
    $database->do('BEGIN IMMEDIATE');
    $database->do($_) for @TABLES;
    $database->do('INSERT INTO secret SELECT ? WHERE NOT EXISTS (SELECT 1 FROM secret)', undef, random_hex());
    $database->do('COMMIT');
    return;
}

sub random_hex {
    CORE::open my $random, '<:raw', '/dev/urandom' or die "cannot read /dev/urandom: $!\n";
    read($random, my $bytes, 16) == 16 or die "cannot read /dev/urandom: $!\n";
    return unpack 'H*', $bytes;
}

# Returns the secret from which the tokens of forms are made. Only the server knows it.
sub secret {
    my ($self) = @_;
    my ($value) = $self->{database}->selectrow_array('SELECT value FROM secret');
    return $value;
}

sub add {
    my ($self, $name, $message) = @_;
    my $database = $self->{database};
    $database->begin_work;
    $database->do(q{INSERT INTO entry (name, message, written) VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))},
        undef, $name eq '' ? 'Anonymous' : $name, $message);
    $database->do('DELETE FROM entry WHERE id <= (SELECT max(id) FROM entry) - ?', undef, $ENTRIES_KEPT);
    $database->commit;
    return;
}

sub count {
    my ($self) = @_;
    my ($count) = $self->{database}->selectrow_array('SELECT count(*) FROM entry');
    return $count;
}

# The newest entries first, as {name, message, written}.
sub newest {
    my ($self, $limit) = @_;
    return @{$self->{database}->selectall_arrayref(
        'SELECT name, message, written FROM entry ORDER BY id DESC LIMIT ?', {Slice => {}}, $limit)};
}

1;
