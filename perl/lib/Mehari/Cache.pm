package Mehari::Cache;

# Caches parts of pages for all workers: `Mehari::Cache->compute('menu', ttl => 60, sub { ... })`.
# Class methods use the cache of the user and the document root. This cache is in memory, or in
# Redis if the variable MEHARI_CACHE holds the URL of a Redis server. `Mehari::Cache->new(folder =>
# ..., size => ...)` and `Mehari::Cache->new(in => 'redis://...')` open other caches. The store is
# Mehari::State's (perl/state/store.h), opened so that a full store drops its oldest values. A value
# is stored as its expiry time (a double), then the bytes that Mehari::State::Structures makes.

use strict;
use warnings;
use Carp qw(croak);
use Cwd ();
use Errno ();
use Fcntl qw(O_RDWR O_CREAT);
use Mehari::State ();
use Mehari::State::NameLock ();
use Mehari::State::Structures ();
use Time::HiRes ();

our $VERSION = '0.002000';

use constant { FILE => 0, NAME => 1, SIZE => 64 << 20, FOREVER => 9e15 };

my %OPTION = (new => { folder => 1, size => 1, namespace => 1, in => 1 }, set => { ttl => 1, stale => 1 });

sub new {
    my ($class, %option) = @_;
    _known('new', \%option);
    my $name = $option{namespace} // $ENV{DOCUMENT_ROOT} // '';
    if (defined(my $url = $option{in} // ($option{folder} ? undef : $ENV{MEHARI_CACHE}))) {
        croak 'Mehari::Cache: in => URL goes without folder and size: Redis has its own' if $option{folder} || $option{size};
        require Mehari::State::Redis;
        return bless [Mehari::State::Redis->open($url, 1), $name], $class;
    }
    my $folder = $option{folder} // _own_folder();
    my $size = _bytes($option{size} // SIZE);
    $folder = Cwd::getcwd() . "/$folder" unless $folder =~ m{\A/};
    my $store = Mehari::State::Store::open("$folder/mehari.cache", O_RDWR | O_CREAT, 0600, $size, 1);
    return bless [$store, $name], $class;
}

# Returns the value, or undef if there is no value or the value has expired.
sub get {
    my ($self, $key) = (_of(shift), _key(shift));
    my $found = $self->_found($key) or return undef;
    return $found->[0] > Time::HiRes::time() ? Mehari::State::Structures::thaw($found->[1]) : undef;
}

# set(KEY, VALUE, ttl => SECONDS) stores a value. Without a ttl, the value never expires.
sub set {
    my ($self, $key, $value, %option) = (_of(shift), _key(shift), @_);
    _known('set', \%option);
    $self->_put($key, $value, \%option);
    return $value;
}

sub remove {
    my ($self, $key) = (_of(shift), _key(shift));
    $self->[FILE]->remove($self->[NAME], $key, 1);
    return 1;
}

sub clear {
    my $self = _of(shift);
    $self->[FILE]->clear($self->[NAME], 1);
    return 1;
}

# Returns the keys of the namespace in any order. Some of their values may have expired.
sub keys {
    my $self = _of(shift);
    return @{ $self->[FILE]->keys($self->[NAME], 1) };
}

# compute(KEY, ttl => SECONDS [, stale => SECONDS], sub { VALUE }) returns the value. If there is no
# fresh value, one process runs the sub and stores the result. Meanwhile the other processes take
# the old value for `stale` seconds after its expiry. Without an old value they wait for the new
# one. If the sub dies, nothing is stored and the next process runs its sub.
sub compute {
    my ($self, $key, $make) = (_of(shift), _key(shift), pop);
    croak 'Mehari::Cache: compute needs a sub as its last argument' unless ref $make eq 'CODE';
    croak 'Mehari::Cache: options come in pairs, NAME => VALUE' if @_ % 2;
    my %option = @_;
    _known('set', \%option);
    my $found = $self->_found($key);
    return Mehari::State::Structures::thaw($found->[1]) if $found && $found->[0] > Time::HiRes::time();
    my $busy = Mehari::State::NameLock->of($self->[FILE], "busy\0$self->[NAME]\0$key");
    unless ($busy->try) {
        # The value is at most `stale` seconds too old: after that time the store drops it.
        return Mehari::State::Structures::thaw($found->[1]) if $found;
        $busy->take('w');
    }
    my $value = eval {
        my $meanwhile = $self->_found($key);
        [$meanwhile && $meanwhile->[0] > Time::HiRes::time() ? Mehari::State::Structures::thaw($meanwhile->[1]) : $self->_put($key, scalar $make->(), \%option)];
    };
    my $problem = $@;
    $busy->give_back;
    die $problem unless $value;
    return $value->[0];
}

my %caches;

# Returns the object, or for a call on the class the cache of the user and the document root.
sub _of {
    my ($self) = @_;
    return ref $self ? $self : $caches{ join "\0", $>, map { $_ // '' } @ENV{qw(DOCUMENT_ROOT MEHARI_CACHE)} } //= $self->new;
}

sub _key {
    my ($key) = @_;
    croak 'Mehari::Cache: a key is needed' unless defined $key && length $key;
    utf8::encode($key) if utf8::is_utf8($key);
    return $key;
}

sub _found {
    my ($self, $key) = @_;
    my $bytes = $self->[FILE]->get($self->[NAME], $key, 1);
    return unless defined $bytes && length $bytes > 8;
    return [unpack('d', substr $bytes, 0, 8, ''), $bytes];
}

sub _put {
    my ($self, $key, $value, $option) = @_;
    my ($ttl, $stale) = map { _seconds($_, $option->{$_}) } qw(ttl stale);
    my $now = Time::HiRes::time();
    my $fresh = defined $ttl ? $now + $ttl : FOREVER;
    my $gone = defined $ttl ? int($fresh + ($stale // 0)) + 1 : 0;
    $self->[FILE]->put($self->[NAME], $key, pack('d', $fresh) . Mehari::State::Structures::freeze($value), 1, $gone);
    return $value;
}

sub _seconds {
    my ($name, $value) = @_;
    return undef unless defined $value;
    croak "Mehari::Cache: $name => '$value': expected seconds from 0 to 1000000000" unless $value =~ /\A[0-9]+(?:\.[0-9]+)?\z/ && $value <= 1e9;
    return $value;
}

sub _bytes {
    my ($text) = @_;
    my ($number, $unit) = $text =~ /\A([0-9]+)([KMG]?)\z/ or croak "Mehari::Cache: size => '$text': expected bytes, or a number with K, M or G";
    my $size = $number * { '' => 1, K => 1 << 10, M => 1 << 20, G => 1 << 30 }->{$unit};
    croak "Mehari::Cache: size => '$text': at least 1M" if $size < 1 << 20;
    return $size;
}

sub _known {
    my ($method, $option) = @_;
    for (sort CORE::keys %$option) {
        next if $OPTION{$method}{$_};
        croak "Mehari::Cache: unknown option '$_': expected " . join ' or ', sort CORE::keys %{ $OPTION{$method} };
    }
}

# Returns the user's private folder in memory. Dies if the folder belongs to another user, or if
# other users may enter it.
sub _own_folder {
    my $folder = (-d '/dev/shm' ? '/dev/shm' : '/tmp') . "/mehari-cache-$>";
    mkdir $folder, 0700 or $!{EEXIST} or croak "Mehari::Cache: cannot make $folder: $!";
    my @status = lstat $folder;
    croak "Mehari::Cache: $folder is not a folder of this user alone: give a folder, Mehari::Cache->new(folder => ...)"
        unless -d _ && $status[4] == $> && !($status[2] & 0077);
    return $folder;
}

1;

__END__

=head1 NAME

Mehari::Cache - a cache for parts of pages, shared by all workers

=head1 SYNOPSIS

    use Mehari::Cache;
    my $menu = Mehari::Cache->compute('menu', ttl => 60, stale => 10, sub { make_the_menu() });
    Mehari::Cache->set(weather => { sky => 'grey' }, ttl => 300);
    my $weather = Mehari::Cache->get('weather');
    Mehari::Cache->remove('weather');

    my $cache = Mehari::Cache->new(folder => '/var/cache/site', size => '256M');
    my $value = $cache->get('key');

    sub make_the_menu { return '<ul></ul>' }

=head1 DESCRIPTION

The cache keeps values of any kind, as L<Mehari::State::Structures> does. A value may have a time
after which it expires. All Perl processes of the server share the cache, however a script runs
(every rung). Programs outside the server can use the cache too. The cache has a maximum size. When
the cache is full, it keeps the half of its values that was written last.

Every method except C<new> may be called on the class. The call then uses the cache that belongs to
the user and the document root. This cache has 64 MiB in memory, in C</dev/shm/mehari-cache-UID>. If
the environment variable C<MEHARI_CACHE> holds the URL of a Redis server, the call uses that server
instead.

=head1 METHODS

=over 4

=item new(OPTION => VALUE ...)

Opens a cache. C<folder> is the folder of its file C<mehari.cache>. C<size> is a number of
bytes, or a number with K, M or G, and at least 1M; the default is 64 MiB. C<namespace>
separates users of one cache; the default is the document root. C<in> is the URL of a Redis
server and excludes C<folder> and C<size>. Dies for any other option.

=item get(KEY)

Returns the value, or undef if there is no value or the value has expired.

=item set(KEY, VALUE, ttl => SECONDS)

Stores a value and returns it. C<ttl> is how long the value is fresh, from 0 to 1,000,000,000
seconds. Fractions are allowed. Without C<ttl>, the value stays fresh. C<set> also takes
C<< stale => SECONDS >>, which C<compute> uses.

=item compute(KEY, ttl => SECONDS, stale => SECONDS, CODE)

Returns the value if it is fresh. Otherwise C<compute> calls the code in scalar context, stores the
result and returns it. Only one process at a time runs the code for a key. Other processes wait for
the value.

If the old value was stored with C<stale>, the other processes do not wait. They return the old
value for that many seconds after its expiry.

If the code dies, nothing is stored, and the exception goes to the caller. A process that waits then
runs its own code. The same happens at once if the process that runs the code is killed.

=item remove(KEY)

Removes a value. Returns 1.

=item clear

Removes all values of the namespace. Returns 1.

=item keys

Returns the keys of the namespace in any order. Some of their values may have expired.

=back

=head1 ERRORS

A method dies with a line that begins with C<Mehari::Cache:> if a key is missing or empty, an option
is unknown, a number of seconds or bytes is wrong, or the folder is not private. Errors of the store
begin with C<Mehari::State:>.

=head1 LIMITS

A key is bytes, or text, which is stored as UTF-8. If the memory of a Redis server is full, the
settings of the server decide which values Redis drops. C<clear> and C<keys> of a cache in Redis
look at every key of the database.

=head1 SEE ALSO

L<Mehari::State>, L<CHI::Driver::Mehari>, F<docs/reference/state.md>, F<docs/reference/cache.md>.

=cut
