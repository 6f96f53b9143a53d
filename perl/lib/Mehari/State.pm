package Mehari::State;

# A hash that all workers share: `tie my %h, 'Mehari::State', NAME [, FLAGS [, MODE]] [, OPTION =>
# VALUE ...]`. It is also the store below MLDBM, MLDBM::Sync and Apache::ASP's StateDB. The store is
# C (perl/state/store.h); this module has Perl's tie, and locks by name.
#
# NAME is a path. Its folder holds one store file for all names in it (mehari.state), which every
# process maps. The last part of the path is the hash's name in the file.
# `redis://HOST:PORT/NUMBER/NAME` is a hash in Redis (Mehari::State::Redis). Options: `in => FILE`
# for another store file, in which the whole NAME is the hash's name, and `limit => BYTES` (1 GiB).

use strict;
use warnings;
use Carp qw(croak);
use Cwd ();
use Fcntl qw(O_RDWR O_CREAT O_TRUNC);
use Mehari::State::NameLock ();
require XSLoader;

our $VERSION = '0.001000';
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
        # The whole path names the hash. In a URL, the text after the last slash does.
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

# Each operation waits while another process holds the lock of the name. This process need not take
# a lock that it holds.
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

# A thread opens its own mapping, because another thread's may move.
sub Mehari::State::Store::CLONE_SKIP { 1 }

# MLDBM::Sync's names: a counted lock of this name against all other processes.
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

# A lock of one key against all other processes: `take('w')`, `give_back`. Operations ignore it.
sub lock_of { my ($self, $key) = @_; return Mehari::State::NameLock->of($self->[FILE], "key\0$self->[NAME]\0$key") }

# The size of the keys and values in bytes.
sub SyncSize { ($_[0][FILE]->size($_[0][NAME]))[0] }

# The figures of the store file: { size, live, records, limit }.
sub report {
    my %report;
    @report{qw(size live records limit)} = $_[0][FILE]->report;
    return \%report;
}

sub DESTROY { $_[0]->UnLock while $_[0][TAKEN] }

1;
