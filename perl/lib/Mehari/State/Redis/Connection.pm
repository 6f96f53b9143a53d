package Mehari::State::Redis::Connection;

# Connects a process to Redis or Valkey, with the protocol RESP2. Each process connects at its first
# command. `call` sends a command and returns the reply: a byte string, a number, a reference to a
# list, undef, or a Mehari::State::Redis::Error for an error of the server. If the connection itself
# fails, `call` dies with a message of one line.

use strict;
use warnings;
use Carp qw(croak);
use Socket qw(SOCK_STREAM AF_UNIX pack_sockaddr_un IPPROTO_TCP TCP_NODELAY getaddrinfo);
use IO::Handle ();
use Errno ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

# CONNECT: seconds for connecting. REPLY: seconds for a command with its whole reply. PACE: bytes of
# a reply that add one second to REPLY.
use constant { CONNECT => 5, REPLY => 10, PACE => 1 << 20 };

# The limits of a reply: LINE is in bytes for a line, STRING is in bytes for a string (the limit of
# Redis itself), PARTS is the length of a list, DEPTH is for lists in lists.
use constant { LINE => 65_536, STRING => 512 << 20, PARTS => 10_000_000, DEPTH => 4 };

sub new {
    my ($class, $url, %own) = @_;
    my %part;
    if ($url =~ m{\Aredis://(?:([^:@/]*)(?::([^@/]*))?\@)?(\[[0-9a-fA-F:.]+\]|[^:/@\[\]]+)(?::([0-9]{1,5}))?(?:/([0-9]{1,4}))?/?\z}) {
        @part{qw(user password host port database)} = ($1, $2, $3, $4 // 6379, $5 // 0);
        $part{host} =~ tr/[]//d;
    } elsif ($url =~ m{\Aunix://(/[^?]+)(?:\?db=([0-9]{1,4}))?\z}) {
        @part{qw(path database)} = ($1, $2 // 0);
    } else {
        my $shown = $url =~ s{//[^/@]*\@}{//...\@}r;
        croak "Mehari::State: '$shown': expected redis://[[USER]:PASSWORD\@]HOST[:PORT][/NUMBER] or unix:///PATH[?db=NUMBER]";
    }
    for (grep { defined } @part{qw(user password)}) { s/%([0-9a-fA-F]{2})/chr hex $1/ge }
    $part{shown} = $part{path} // "$part{host}:$part{port}";
    return bless { %part, buffer => '', process => 0, patience => $own{patience} // REPLY }, $class;
}

# Returns the number that the server has given to this connection.
sub id { $_[0]{id} }

sub call {
    my ($self, @words) = @_;
    my $fresh = !$self->{socket} || $self->{process} != $$;
    $self->connect if $fresh;
    my $reply = eval { [$self->exchange(@words)] };
    return $reply->[0] if $reply;
    my $problem = $@;
    $self->close;
    # A restarted server has closed the old connection and has not run the command. The command is
    # sent once more over a new connection.
    die $problem if $fresh || $problem !~ /closed the connection/;
    $self->connect;
    return $self->exchange(@words);
}

sub close {
    my ($self) = @_;
    CORE::close delete $self->{socket} if $self->{socket};
    @$self{qw(buffer id)} = ('', undef);
}

sub connect {
    my ($self) = @_;
    $self->{socket} = undef; # the parent's socket stays open in the parent
    @$self{qw(buffer process id)} = ('', $$, undef);
    my $problem = 'no address';
    for my $address ($self->addresses) {
        my ($family, $packed) = @$address;
        socket my $socket, $family, SOCK_STREAM, 0 or $problem = $!, next;
        $socket->blocking(0);
        if (!CORE::connect($socket, $packed)) {
            $problem = $!, next unless $!{EINPROGRESS};
            vec(my $wanted = '', fileno $socket, 1) = 1;
            $problem = 'no answer', next unless select undef, $wanted, undef, CONNECT;
            if (my $error = unpack 'i', getsockopt $socket, Socket::SOL_SOCKET, Socket::SO_ERROR) { local $! = $error; $problem = $!; next }
        }
        setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1 if $family != AF_UNIX;
        $self->{socket} = $socket;
        last;
    }
    $self->{socket} or die "Mehari::State: cannot connect to Redis at $self->{shown}: $problem\n";
    $self->greet;
}

sub addresses {
    my ($self) = @_;
    return [AF_UNIX, pack_sockaddr_un($self->{path})] if defined $self->{path};
    my ($error, @found) = getaddrinfo($self->{host}, $self->{port}, { socktype => SOCK_STREAM });
    die "Mehari::State: cannot find Redis at $self->{shown}: $error\n" if $error;
    return map { [@$_{qw(family addr)}] } @found;
}

sub greet {
    my ($self) = @_;
    my @login = grep { length } map { $_ // '' } @$self{qw(user password)};
    my @commands = (@login ? ['AUTH', @login] : (), $self->{database} ? ['SELECT', $self->{database}] : (), ['CLIENT', 'ID']);
    for my $command (@commands) {
        $self->{id} = $self->exchange(@$command);
        next unless ref $self->{id};
        my $problem = ${ $self->{id} };
        $self->close;
        die "Mehari::State: Redis at $self->{shown} refuses $command->[0]: $problem\n";
    }
}

sub exchange {
    my ($self, @words) = @_;
    my $request = '*' . @words . "\r\n";
    for my $word (@words) {
        my $bytes = "$word";
        utf8::downgrade($bytes, 1) or croak 'Mehari::State: a wide character (above 255) in a key or value: encode it first';
        $request .= '$' . length($bytes) . "\r\n$bytes\r\n";
    }
    $self->{until} = clock_gettime(CLOCK_MONOTONIC) + $self->{patience};
    $self->send($request);
    my $reply = $self->reply;
    $self->strange if length $self->{buffer}; # leftover bytes would count as the next reply
    return $reply;
}

sub send {
    my ($self, $request) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $sent = 0;
    while ($sent < length $request) {
        my $count = syswrite $self->{socket}, $request, length($request) - $sent, $sent;
        if (defined $count) { $sent += $count; next }
        next if $!{EINTR};
        $self->broken($!{EPIPE} || $!{ECONNRESET} ? 'closed the connection' : "$!") unless $!{EAGAIN};
        $self->wait(1);
    }
}

sub broken { die "Mehari::State: Redis at $_[0]{shown} $_[1]\n" }

# Waits until the socket can be written or read. The time limit is for the whole exchange, so a
# server that sends one byte after another cannot make the caller wait for ever.
sub wait {
    my ($self, $for_write) = @_;
    vec(my $bits = '', fileno $self->{socket}, 1) = 1;
    my ($read, $write) = $for_write ? (undef, $bits) : ($bits, undef);
    my $left = $self->{until} - clock_gettime(CLOCK_MONOTONIC);
    return if $left > 0 && select $read, $write, undef, $left;
    $self->broken("gives no whole answer within $self->{patience} seconds");
}

sub more {
    my ($self) = @_;
    while (1) {
        my $count = sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer};
        return $self->{until} += $count / PACE if $count;
        $self->broken('closed the connection') if defined $count || $!{ECONNRESET};
        next if $!{EINTR};
        $self->broken("$!") unless $!{EAGAIN};
        $self->wait(0);
    }
}

sub line {
    my ($self) = @_;
    my $end;
    while (($end = index $self->{buffer}, "\r\n") < 0) {
        $self->strange if length $self->{buffer} > LINE;
        $self->more;
    }
    my $line = substr $self->{buffer}, 0, $end + 2, '';
    return substr $line, 0, -2;
}

sub reply {
    my ($self, $depth) = @_;
    my $line = $self->line;
    my $kind = substr $line, 0, 1, '';
    return $line if $kind eq '+';
    return bless \$line, 'Mehari::State::Redis::Error' if $kind eq '-';
    $self->strange unless $line =~ /\A-?[0-9]{1,19}\z/;
    return $line if $kind eq ':';
    return $self->bytes($line) if $kind eq '$';
    $self->strange if $kind ne '*' || $line > PARTS || ($depth // 0) == DEPTH;
    return undef if $line < 0;
    my @parts;
    push @parts, $self->reply(($depth // 0) + 1) while @parts < $line;
    return \@parts;
}

sub bytes {
    my ($self, $length) = @_;
    return undef if $length < 0;
    $self->strange if $length > STRING;
    $self->more while length $self->{buffer} < $length + 2;
    my $bytes = substr $self->{buffer}, 0, $length + 2, '';
    $self->strange unless "\r\n" eq substr $bytes, -2, 2, '';
    return $bytes;
}

sub strange { $_[0]->broken('sent an invalid reply') }

1;

__END__

=head1 NAME

Mehari::State::Redis::Connection - internal

=head1 DESCRIPTION

This module is internal to the server: it is a connection of a process to Redis or Valkey.

=cut
