package Mehari::State;

# Ties a hash that all workers share: `tie my %h, 'Mehari::State', NAME [, FLAGS [, MODE]] [, OPTION
# => VALUE ...]`. MLDBM, MLDBM::Sync and Apache::ASP's StateDB can use this class as their store.
# The store itself is in C (perl/state/store.h). This module adds Perl's `tie` and locks by name.
#
# NAME is a path. The last part of the path is the hash's name. The folder before it holds the file
# mehari.state, which has all hashes of the folder and which every process maps.
# `redis://HOST:PORT/NUMBER/NAME` is a hash in Redis (Mehari::State::Redis). The option `in => FILE`
# chooses another store file, in which the whole NAME is the hash's name. The option `limit =>
# BYTES` limits the file (default: 1 GiB).

use strict;
use warnings;
use Carp qw(croak);
use Cwd ();
use Fcntl qw(O_RDWR O_CREAT O_TRUNC);
use Mehari::State::NameLock ();
require Mehari::Built;
require XSLoader;

our $VERSION = '0.002000';
XSLoader::load('Mehari::State', $VERSION);

use constant { FILE => 0, NAME => 1, LOCK => 2, KEYS => 3, TAKEN => 4 };

my %OPTION = map { $_ => 1 } qw(in limit);

sub TIEHASH {
    my ($class, $path, @rest) = @_;
    croak 'Mehari::State: tie needs the path of a hash' unless defined $path && length $path;
    my $flags = @rest && defined $rest[0] && $rest[0] =~ /\A[0-9]+\z/ ? shift @rest : O_RDWR | O_CREAT;
    my $mode = @rest && defined $rest[0] && $rest[0] =~ /\A[0-9]+\z/ ? shift @rest : 0640;
    croak 'Mehari::State: options come in pairs, NAME => VALUE' if @rest % 2;
    my %option = @rest;
    my $name;
    for (sort keys %option) { croak "Mehari::State: unknown option '$_': expected in or limit" unless $OPTION{$_} }
    if (my ($url) = grep { defined && m{\A(?:redis|unix)://} } $option{in}, $path) {
        # With the option `in`, the whole path names the hash. In a URL without this option, the
        # text after the last slash names the hash.
        $name = defined $option{in} ? $path : $url =~ s{/([^/?]+)\z}{} ? $1 : croak "Mehari::State: '$path' names no hash: expected redis://HOST/NUMBER/NAME";
        require Mehari::State::Redis;
        return $class->_on(Mehari::State::Redis->open($url, 0), $name, $flags);
    }
    (my $folder, $name) = $path =~ m{\A(.*/)?([^/]+)\z}s or croak "Mehari::State: '$path' names no hash";
    my $file = $option{in} // ($folder // './') . 'mehari.state';
    $name = $path if defined $option{in};
    return $class->_on($class->_open($file, $flags, $mode, $option{limit}), $name, $flags);
}

sub _on {
    my ($class, $store, $name, $flags) = @_;
    my $self = bless [$store, $name, Mehari::State::NameLock->of($store, $name), undef, 0], $class;
    $self->CLEAR if $flags & O_TRUNC;
    return $self;
}

sub _open {
    my ($class, $file, $flags, $mode, $limit) = @_;
    $file = Cwd::getcwd() . "/$file" unless $file =~ m{\A/};
    return Mehari::State::Store::open($file, $flags, $mode, $limit // 0, 0);
}

# Each operation waits while another process holds the hash's lock. The value of `held` tells the
# store whether this process holds the lock already.
sub FETCH  { $_[0][FILE]->get($_[0][NAME], $_[1] // '', $_[0][LOCK]->held('r')) }
sub EXISTS { $_[0][FILE]->has($_[0][NAME], $_[1] // '', $_[0][LOCK]->held('r')) }

sub STORE {
    $_[0][FILE]->put($_[0][NAME], $_[1] // '', $_[2] // '', $_[0][LOCK]->held('w'), 0);
    return 1;
}

sub DELETE {
    my $self = $_[0];
    $self->Lock;
    my $value = defined wantarray ? $self->FETCH($_[1]) : undef;
    $self->[FILE]->remove($self->[NAME], $_[1] // '', 1);
    $self->UnLock;
    return $value;
}

sub CLEAR {
    $_[0][FILE]->clear($_[0][NAME], $_[0][LOCK]->held('w'));
    return 1;
}

sub FIRSTKEY {
    my $self = shift;
    $self->[KEYS] = $self->[FILE]->keys($self->[NAME], $self->[LOCK]->held('r'));
    return pop @{ $self->[KEYS] };
}

sub NEXTKEY { pop @{ $_[0][KEYS] // [] } }

sub SCALAR { ($_[0][FILE]->size($_[0][NAME]))[1] }

sub Mehari::State::Store::id { ${ $_[0] } }

# The object is not copied into new threads. A thread opens its own mapping, because another thread
# may move its mapping.
sub Mehari::State::Store::CLONE_SKIP { 1 }

# Take and release the lock of this hash, under MLDBM::Sync's method names. While this process holds
# the lock, all other processes wait. Locks are counted.
sub Lock     { $_[0][LOCK]->take('w'); ++$_[0][TAKEN] }
sub ReadLock { $_[0][LOCK]->take('r'); ++$_[0][TAKEN] }
sub UnLock   { $_[0][LOCK]->give_back, --$_[0][TAKEN] if $_[0][TAKEN]; 1 }
{
    no warnings 'once';
    *lock       = \&Lock;
    *unlock     = \&UnLock;
    *SyncLock   = \&Lock;
    *SyncUnLock = \&UnLock;
}

# Returns the lock of one key, with the methods `take('w')` and `give_back`. Only other users of
# this lock wait for it: the operations on the hash ignore the lock.
sub lock_of { my ($self, $key) = @_; return Mehari::State::NameLock->of($self->[FILE], "key\0$self->[NAME]\0$key") }

# Returns the size of all keys and values in bytes.
sub SyncSize { ($_[0][FILE]->size($_[0][NAME]))[0] }

# Returns the figures of the store file: { size, live, records, limit }.
sub report {
    my %report;
    @report{qw(size live records limit)} = $_[0][FILE]->report;
    return \%report;
}

sub DESTROY { $_[0]->UnLock while $_[0][TAKEN] }

1;

__END__

=head1 NAME

Mehari::State - a hash that all processes of a machine, or of several, share

=head1 SYNOPSIS

    use Mehari::State;
    tie my %visits, 'Mehari::State', '/var/lib/site/visits';

    my $store = tied %visits;
    $store->Lock;
    $visits{total}++;
    $store->UnLock;

    # On several machines:
    tie my %shared, 'Mehari::State', 'redis://10.0.0.5:6379/0/visits';

=head1 DESCRIPTION

A tied hash is stored in one file, which every process maps into its memory. There is no daemon. An
access to the hash opens neither a file nor a socket. The hash survives reloads, restarts, and the
death of any process at any moment.

A key may have up to 65,536 bytes, and a value up to 256 MiB. Both are byte strings. A character
above 255 is an error, so encode text first. L<Mehari::State::Structures> also takes text and
references as values. An undefined key or value is stored as the empty string.

One access is atomic. If you fetch a value, change it and store it, you need a lock. C<use MLDBM
qw(Mehari::State Storable)> works, with or without MLDBM::Sync.

=head1 TIE

    tie my %hash, 'Mehari::State', PATH;
    tie my %hash, 'Mehari::State', PATH, FLAGS, MODE, OPTION => VALUE;

=over 4

=item PATH

A path consists of a folder and the name of the hash. The folder holds the store, which is the file
C<mehari.state>. All hashes of a folder share this store. C<redis://HOST:PORT/NUMBER/NAME> is a hash
in Redis or Valkey, where NUMBER is the database.

=item FLAGS

The flags of C<sysopen>. C<O_CREAT> makes a missing store, and C<O_TRUNC> empties the hash. The
default is C<O_RDWR | O_CREAT>.

=item MODE

The permissions of a new store. The default is 0640.

=item in => FILE

Names another store file, or a server: C<redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER]> or
C<unix:///PATH[?db=NUMBER]>. The whole PATH is then only the name of the hash.

=item limit => BYTES

The largest size of the store file. The default is 1 GiB.

=back

=head1 METHODS

The methods belong to the object that C<tied %hash> returns.

=over 4

=item Lock, lock, SyncLock

Takes the lock of the hash for writing. While a process holds the lock, operations of other
processes on the hash wait. Locks are counted: each Lock needs its own UnLock. A lock belongs to the
process that took it and ends with this process. A fork does not inherit the lock. Returns the
number of locks that this object holds.

=item ReadLock

Takes the lock of the hash for reading. Other processes can read meanwhile. Writers wait. If you
hold only this lock, a write dies.

=item UnLock, unlock, SyncUnLock

Releases one lock of this object. If there is no lock, UnLock does nothing. Returns 1. When the
object is destroyed, it releases all its locks.

=item lock_of(KEY)

Returns an object for the lock of one key. C<< $lock->take('w') >> waits for the lock and takes it.
C<< $lock->give_back >> releases the lock. The destruction of the object releases it too. Operations
on the hash do not wait for the lock of a key.

=item SyncSize

Returns the size of all keys and values of the hash in bytes. C<scalar %hash> is the number of
keys.

=item report

Returns C<{ size, live, records, limit }> of the whole store: the bytes of the file, the bytes
in use, the number of records, and the limit in bytes. For a hash in Redis, size and live are both
the memory that the server uses, and a limit of 0 means that the server has no limit.

=back

=head1 ERRORS

Every error is a C<die> with one line that begins with C<Mehari::State:>. Some of the reasons:

=over 4

=item *

The file is full, is damaged or is not a store.

=item *

The file cannot be extended, because disk blocks are reserved before they are written.

=item *

To take a lock would be a deadlock.

=item *

Redis cannot be reached.

=back

F<docs/reference/state.md> explains each line.

=head1 LIMITS

The file must be on a local file system and is for one machine. Its lock does not work over NFS. The
store never calls fsync, so a power failure may lose the last seconds. A user who may write the file
can also damage it.

In Redis, a lock for reading also excludes other readers. A process that has waited for a lock for
60 seconds gets an error. A process that holds a lock but does not use the hash for five minutes
loses the lock.

Each thread must open its own object, because objects are not copied into new threads.

=head1 SEE ALSO

L<Mehari::State::Structures>, L<Mehari::Cache>, L<Apache::Session::Mehari>,
L<Apache::ASP::State>, F<docs/reference/state.md>.

=cut
