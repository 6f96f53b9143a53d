package Mehari::State::Redis;

# Stores Mehari::State and Mehari::Cache in Redis or Valkey, for sites on several machines. The
# class has the operations of Mehari::State::Store (State.xs). A hash is a Redis hash. A value of
# Mehari::Cache is a key that expires. A lock is a key whose value has the number of the holder's
# connection to Redis. If this connection has ended, the next process that wants the lock frees the
# lock. FORGOTTEN is for holders whose machine has vanished without closing the connection.

use strict;
use warnings;
use Carp qw(croak);
use Digest::SHA ();
use Time::HiRes ();
use Mehari::State::Redis::Connection ();

# FORGOTTEN: milliseconds after which a lock expires if its holder performs no operation. PATIENCE:
# seconds for which a process waits for a lock.
use constant { FORGOTTEN => 300_000, PATIENCE => 60 };

# The start of each Lua script: refuses the operation if another process holds the lock. KEYS are
# the hash and its lock. ARGV[1] is the lock's value if this process holds the lock, else empty. The
# operation's arguments follow.
my $GUARD = q{
local holder = redis.call('GET', KEYS[2])
if ARGV[1] == '' then
  if holder then return redis.error_reply('LOCKED ' .. holder) end
elseif holder ~= ARGV[1] then return redis.error_reply('LOST the lock')
else redis.call('PEXPIRE', KEYS[2], } . FORGOTTEN . q{) end
};
my %SCRIPT = (
    get    => "$GUARD return redis.call('HGET', KEYS[1], ARGV[2])",
    has    => "$GUARD return redis.call('HEXISTS', KEYS[1], ARGV[2])",
    put    => "$GUARD return redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])",
    remove => "$GUARD return redis.call('HDEL', KEYS[1], ARGV[2])",
    clear  => "$GUARD return redis.call('UNLINK', KEYS[1])",
    keys   => "$GUARD return redis.call('HKEYS', KEYS[1])",
    free   => "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
);
my %DIGEST = map { $_ => Digest::SHA::sha1_hex($SCRIPT{$_}) } keys %SCRIPT;

my %stores;

# Returns the store for a URL. A process has at most two for a URL: with `$expiring` the values
# expire, as Mehari::Cache needs it.
sub open {
    my ($class, $url, $expiring) = @_;
    return $stores{$url}{ $expiring ? 1 : 0 } //= bless {
        connection => Mehari::State::Redis::Connection->new($url),
        expiring => $expiring, id => "$url $expiring", tokens => {},
    }, $class;
}

sub is_url { $_[0] =~ m{\A(?:redis|unix)://} }

sub id { $_[0]{id} }

sub get {
    my ($self, $name, $key, $held) = @_;
    return $self->plainly('GET', $self->place($name, $key)) if $self->{expiring};
    return $self->run('get', $name, $held, $key);
}

sub has {
    my ($self, $name, $key, $held) = @_;
    return $self->plainly('EXISTS', $self->place($name, $key)) if $self->{expiring};
    return $self->run('has', $name, $held, $key);
}

sub put {
    my ($self, $name, $key, $value, $held, $expires) = @_;
    return $self->run('put', $name, $held, $key, $value) unless $self->{expiring};
    # A time in milliseconds from now: Redis before 6.2 has no PXAT.
    my $left = int(1000 * (($expires || 0) - Time::HiRes::time()));
    $self->plainly('SET', $self->place($name, $key), $value, $expires ? ('PX', $left > 1 ? $left : 1) : ());
}

sub remove {
    my ($self, $name, $key, $held) = @_;
    return $self->plainly('DEL', $self->place($name, $key)) if $self->{expiring};
    return $self->run('remove', $name, $held, $key);
}

sub clear {
    my ($self, $name, $held) = @_;
    return $self->run('clear', $name, $held) unless $self->{expiring};
    $self->each_part($name, sub { $self->plainly('UNLINK', @_) });
}

sub keys {
    my ($self, $name, $held) = @_;
    return $self->run('keys', $name, $held) unless $self->{expiring};
    my $before = length $self->place($name, '');
    my %found;
    $self->each_part($name, sub { $found{ substr $_, $before } = 1 for @_ });
    return [CORE::keys %found];
}

# Calls the code several times, each time with some of the Redis keys of a cache. Redis may give a
# key twice.
sub each_part {
    my ($self, $name, $code) = @_;
    my $pattern = $self->place($name, '') =~ s/([\\*?\[\]])/\\$1/gr . '*';
    my $cursor = 0;
    do {
        ($cursor, my $keys) = @{ $self->plainly('SCAN', $cursor, 'MATCH', $pattern, 'COUNT', 1000) };
        $code->(@$keys) if @$keys;
    } while $cursor;
}

# Returns the size of all keys and values in bytes, and the number of keys.
sub size {
    my ($self, $name) = @_;
    my $all = $self->plainly('HGETALL', "mehari:state:$name");
    my $bytes = 0;
    $bytes += length for @$all;
    return ($bytes, @$all / 2);
}

# Returns four figures of the whole Redis server: the bytes in use, twice, because there is no file;
# the number of keys; and the limit in bytes (0: no limit).
sub report {
    my ($self) = @_;
    my $memory = $self->plainly('INFO', 'memory');
    my ($used) = $memory =~ /^used_memory:([0-9]+)/m;
    my ($most) = $memory =~ /^maxmemory:([0-9]+)/m;
    return ($used // 0, $used // 0, $self->plainly('DBSIZE'), $most // 0);
}

# Takes the lock of a name (kinds 'w' and 'r', which mean the same here, because readers do not
# share a lock) or releases the lock (kind 'u'). If another process holds the lock, `lock` waits, or
# returns false if `$wait` is 0.
sub lock {
    my ($self, $name, $kind, $wait) = @_;
    my $lock = "mehari:lock:$name";
    if ($kind eq 'u') {
        my $token = delete $self->{tokens}{$name};
        $self->script('free', [$lock], $token) if defined $token && $self->is_ours($token);
        return 1;
    }
    my $token;
    $self->until_free($name, $wait // 1, sub {
        $self->plainly('PING') unless $self->{connection}->id && $self->{connection}{process} == $$;
        $token = join ':', $self->{connection}->id, $$, Time::HiRes::time();
        $self->plainly('SET', $lock, $token, 'NX', 'PX', FORGOTTEN) ? undef : $self->plainly('GET', $lock) // '';
    }) or return 0;
    $self->{tokens}{$name} = $token;
    return 1;
}

# Calls `$try` until it returns undef, which means success. A failed `$try` returns the lock's
# value, which names the holder. Dies when PATIENCE is over. Returns false at once if `$wait` is
# false and a living process holds the lock.
sub until_free {
    my ($self, $name, $wait, $try) = @_;
    my $begun = Time::HiRes::time();
    for (my $pause = 0.001; ; $pause = $pause < 0.05 ? $pause * 1.5 : $pause) {
        my $holder = $try->();
        return 1 unless defined $holder;
        next if $self->is_gone($name, $holder);
        return 0 unless $wait;
        croak qq{Mehari::State: cannot lock "$name": another process holds it for @{[PATIENCE]} seconds} if Time::HiRes::time() - $begun > PATIENCE;
        Time::HiRes::sleep($pause);
    }
}

# Returns whether the connection of the lock's holder has ended. If so, frees the lock.
sub is_gone {
    my ($self, $name, $holder) = @_;
    return 1 if $holder eq '';
    my ($client) = $holder =~ /\A([0-9]+):/ or return 0;
    my $known = $self->{connection}->call('CLIENT', 'LIST', 'ID', $client);
    # Redis before 6.2 lists only all connections.
    $known = $self->{connection}->call('CLIENT', 'LIST') if ref $known;
    return 0 if ref $known || $known =~ /^id=$client /m;
    $self->script('free', ["mehari:lock:$name"], $holder);
    return 1;
}

sub is_ours {
    my ($self, $token) = @_;
    my ($client, $process) = split /:/, $token;
    return $process == $$ && ($self->{connection}->id // '') eq $client;
}

sub place { 'mehari:cache:' . length($_[1]) . ":$_[1]:$_[2]" }

sub run {
    my ($self, $script, $name, $held, @own) = @_;
    my @keys = ("mehari:state:$name", "mehari:lock:$name");
    my $reply;
    $self->until_free($name, 1, sub {
        my $token = $held ? $self->{tokens}{$name} // 'none' : '';
        $reply = $self->script($script, \@keys, $token, @own);
        return undef unless ref $reply eq 'Mehari::State::Redis::Error';
        return $1 if $$reply =~ /^LOCKED (.*)/;
        $self->fail($reply);
    });
    return $reply;
}

sub script {
    my ($self, $name, $keys, @own) = @_;
    my @words = (scalar @$keys, @$keys, @own);
    my $reply = $self->{connection}->call('EVALSHA', $DIGEST{$name}, @words);
    return $reply unless ref $reply eq 'Mehari::State::Redis::Error' && $$reply =~ /^NOSCRIPT/;
    return $self->{connection}->call('EVAL', $SCRIPT{$name}, @words);
}

sub plainly {
    my ($self, @words) = @_;
    my $reply = $self->{connection}->call(@words);
    $self->fail($reply) if ref $reply eq 'Mehari::State::Redis::Error';
    return $reply;
}

sub fail {
    my ($self, $reply) = @_;
    croak 'Mehari::State: the lock was lost: its connection to Redis ended' if $$reply =~ /^LOST /;
    croak "Mehari::State: Redis says: $$reply";
}

1;

__END__

=head1 NAME

Mehari::State::Redis - internal

=head1 DESCRIPTION

This module is internal to the server: it is the store of L<Mehari::State> and L<Mehari::Cache>
in Redis or Valkey.

=cut
