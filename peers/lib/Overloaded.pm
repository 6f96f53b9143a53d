# The servers of peers/overload, each with the same few workers and an application that sleeps, and
# what is measured of them. nginx with Starman has nginx's default queue: the backlog of Starman's
# socket. Apache has one child for each worker and the backlog of its own socket.
package Overloaded;
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP qw(decode_json);
use MIME::Base64 qw(decode_base64);
use Time::HiRes qw(sleep time);
use Peer::Apache;
use Peer::Mehari;
use Peer::Nginx;

my $PATIENCE = 60;
my $IN_TIME  = 2;
my $AT_ONCE  = 0.005;

# Sends an open loop. Returns the number of answers 200 that came in time, of answers 503 and of
# those that came at once, of requests without an answer, and the times of answers in
# milliseconds.
sub load {
    my ($mehari, $url, $rate, $seconds) = @_;
    my @command = ($mehari, qw(bench --quiet --no-ceiling --json --timeout 20s -c 4000 --rate), $rate, '-d', "${seconds}s", $url);
    open my $bench, '-|', @command or die "cannot run $mehari bench: $!\n";
    my $record = decode_json(do { local $/; <$bench> } || die "$mehari bench said nothing\n");
    my $counts = $record->{counts};
    my $all    = histogram($record->{response}{hdr});
    my $bad    = histogram($record->{response_of_errors}{hdr});
    my %good   = map { $_ => $all->{$_} - ($bad->{$_} // 0) } keys %$all;
    my $failed = $counts->{censored};
    $failed += $_ for values %{$counts->{failed}};
    return {
        good    => within(\%good, $IN_TIME),
        refused => $counts->{statuses}{503} // 0,
        at_once => within($bad, $AT_ONCE),
        failed  => $failed,
        (map { ("p$_" => percentile(\%good, $_), "refused_p$_" => percentile($bad, $_)) } 50, 99),
    };
}

# Decodes an HdrHistogram V2: a number of times for each value in nanoseconds.
sub histogram {
    my ($text) = @_;
    my ($payload, $digits, $lowest, $counts) = unpack 'x4 N x4 N Q> x16 a*', decode_base64($text);
    my ($half, $unit) = (1, 0);
    $half *= 2 while $half < 10**$digits;
    $unit++ while 2 << $unit <= $lowest;
    my ($index, $value, $shift, %times) = (0, 0, 0);
    for my $byte (unpack 'C*', $counts) {
        # A number has seven bits a byte, or eight in its ninth.
        $value |= ($shift == 56 ? $byte : $byte & 127) << $shift;
        $shift += 7;
        next if $byte & 128 && $shift < 63;
        my $number = $value & 1 ? -($value >> 1) - 1 : $value >> 1;
        $times{value_of($index, $half, $unit)} = $number if $number > 0;
        $index += $number < 0 ? -$number : 1;
        ($value, $shift) = (0, 0);
    }
    return \%times;
}

# Returns how many of the times are at most this number of seconds.
sub within {
    my ($times, $seconds) = @_;
    my $count = 0;
    $count += $times->{$_} for grep { $_ <= $seconds * 1e9 } keys %$times;
    return $count;
}

sub value_of {
    my ($index, $half, $unit) = @_;
    return $index << $unit if $index < 2 * $half;
    my $bucket = int($index / $half) - 1;
    return ($index % $half + $half) << ($bucket + $unit);
}

# Returns a percentile in milliseconds, or undef of nothing.
sub percentile {
    my ($times, $percent) = @_;
    my $left = 0;
    $left += $_ for values %$times;
    return undef unless $left;
    $left *= $percent / 100;
    for my $value (sort { $a <=> $b } keys %$times) {
        $left -= $times->{$value};
        return $value / 1e6 if $left <= 0;
    }
    return undef;
}

# Returns the seconds of one request, and whether its status was 200.
sub timed {
    my ($url) = @_;
    my ($port) = $url =~ /:(\d+)/;
    my $start  = time;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or return (time - $start, 0);
    print {$socket} "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    my $answer = do { local $/; <$socket> } // '';
    return (time - $start, $answer =~ m{\AHTTP/1\.[01] 200});
}

# Waits until the server answers within this number of seconds. Returns how long that took.
sub recovery {
    my ($url, $fast) = @_;
    my $start = time;
    while (time - $start < $PATIENCE) {
        my ($took, $is_good) = timed($url);
        return time - $start if $is_good && $took < $fast;
        sleep 0.02;
    }
    return $PATIENCE;
}

sub nap { my ($server) = @_; return 'select undef, undef, undef, ' . $server->{service} / 1000 . ';' }

sub app {
    my ($server) = @_;
    return $server->write_file('app.psgi', "sub { @{[nap($server)]} [200, ['Content-Type', 'text/plain'], ['served']] }\n");
}

package Overloaded::Mehari;
use parent 'Peer::Mehari';
sub title { return 'Mehari' }
sub order { return 1 }

sub configure {
    my ($self) = @_;
    my $app = Overloaded::app($self);
    $self->write_file('mehari.conf', <<"END");
ServerRoot $self->{folder}
DocumentRoot $self->{folder}
ErrorLog $self->{folder}/error.log
CustomLog $self->{folder}/access.log combined
MaxConnections 8000
StartServers $self->{workers}
MinSpareServers $self->{workers}
MaxSpareServers $self->{workers}
MaxRequestWorkers $self->{workers}
WorkerQueueTarget $self->{target}
<Location />
    SetHandler psgi
    PSGIApp $app
    Require all granted
</Location>
END
    return;
}

package Overloaded::Starman;
use parent 'Peer';
sub title { return 'nginx + Starman' }
sub order { return 2 }
sub program { return 'starman' }
sub installed { my ($class) = @_; return $class->SUPER::installed && Peer::Nginx->installed }

# A shell runs both servers, and ends when nginx ends.
sub command {
    my ($self) = @_;
    my $starman = Peer::installed(ref $self);
    my $nginx   = Peer::Nginx->installed;
    return ('sh', '-c', <<"END");
$starman --listen 127.0.0.1:$self->{back} --preload-app --workers $self->{workers} --disable-keepalive \\
    --max-requests 1000000000 --access-log $self->{folder}/access.starman $self->{app} &
trap 'kill -QUIT \$! \$nginx' TERM
$nginx -p $self->{folder} -c $self->{folder}/nginx.conf -g 'daemon off;' & nginx=\$!
wait; wait
END
}

sub configure {
    my ($self) = @_;
    $self->{app}  = Overloaded::app($self);
    $self->{back} = Peer::free_port();
    my $identity  = $> == 0 ? 'user www-data;' : '';
    my $temporary = join "\n    ", map { "${_}_temp_path $self->{folder}/$_;" } qw(client_body proxy fastcgi uwsgi scgi);
    $self->write_file('nginx.conf', <<"END");
$identity
worker_processes auto;
worker_rlimit_nofile 16384;
pid $self->{folder}/nginx.pid;
error_log $self->{folder}/error.log;
events { worker_connections 8192; multi_accept on; }
http {
    $temporary
    access_log $self->{folder}/access.log combined buffer=64k flush=1s;
    server {
        listen 127.0.0.1:$self->{port} backlog=4096;
        location / { proxy_pass http://127.0.0.1:$self->{back}; }
    }
}
END
    return;
}

package Overloaded::Apache;
use parent 'Peer::Apache';
sub title { return 'Apache + mod_perl' }
sub order { return 3 }

sub configure {
    my ($self) = @_;
    my $load = join '', map { "LoadModule ${_}_module /usr/lib/apache2/modules/mod_$_.so\n" } qw(mpm_prefork authz_core perl);
    my $identity = $> == 0 ? "User www-data\nGroup www-data\n" : '';
    $self->write_file('httpd.conf', <<"END");
$load
$identity
Listen 127.0.0.1:$self->{port}
ListenBacklog 4096
ServerName localhost
ServerRoot $self->{folder}
PidFile $self->{folder}/httpd.pid
Mutex file:$self->{folder} default
DocumentRoot $self->{folder}
ErrorLog $self->{folder}/error.log
LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
CustomLog $self->{folder}/access.log common
KeepAlive Off
StartServers $self->{workers}
MinSpareServers $self->{workers}
MaxSpareServers $self->{workers}
ServerLimit $self->{workers}
MaxRequestWorkers $self->{workers}
<Perl>
    package Overloaded::Nap;
    use Apache2::RequestRec ();
    use Apache2::RequestIO ();
    sub handler { my (\$r) = \@_; @{[Overloaded::nap($self)]} \$r->content_type('text/plain'); \$r->print('served'); return 0 }
    \$INC{'Overloaded/Nap.pm'} = __FILE__;
</Perl>
<Location />
    SetHandler modperl
    PerlResponseHandler Overloaded::Nap
    Require all granted
</Location>
END
    return;
}

1;
