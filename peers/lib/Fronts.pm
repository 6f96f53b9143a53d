# Configures servers in front of back ends, each in the fastest known configuration. The back ends
# are HTTP servers, or PHP processes with FastCGI. A front is a Peer with these options: rung (how
# it balances or keeps connections), and back_ends (host:port, ...) or php (the number of
# processes).
package Fronts;
use strict;
use warnings;

package Fronts::Php;
# Starts php-cgi for a server that does not start it itself. The processes end when the object is
# destroyed.
sub start {
    my ($class, $folder, $children) = @_;
    my $socket = "$folder/php.sock";
    my $pid = fork // die "cannot fork: $!\n";
    if (!$pid) {
        setpgrp;
        open STDERR, '>', "$folder/php.log";
        @ENV{qw(PHP_FCGI_CHILDREN PHP_FCGI_MAX_REQUESTS)} = ($children, 1_000_000);
        exec 'php-cgi', '-b', $socket or POSIX::_exit(127);
    }
    for (1 .. 500) { last if -S $socket; Time::HiRes::sleep(0.01) }
    chmod 0777, $socket;
    return bless {pid => $pid, socket => $socket}, $class;
}
sub DESTROY { my ($self) = @_; local ($?, $@); kill 'TERM', -$self->{pid}; waitpid $self->{pid}, 0; return }

package Fronts::Mehari;
use parent -norequire, 'Peer';
our $BINARY = 'target/release/mehari';
sub title           { my ($self) = @_; return ref $self ? "Mehari, $self->{rung}" : 'Mehari' }
sub program         { return 'mehari' }
sub installed       { return -x $BINARY ? $BINARY : undef }
sub version_command { return ($BINARY, '--version') }
sub command {
    my ($self) = @_;
    my @secure = $self->{tls_port} ? ('--listen', "https://127.0.0.1:$self->{tls_port}") : ();
    return ($BINARY, 'serve', '-f', $self->file('mehari.conf'), '--listen', "127.0.0.1:$self->{port}", @secure);
}
sub configure {
    my ($self) = @_;
    my $members = join '', map { "    BalancerMember http://$_ smax=256\n" } @{$self->{back_ends} // []};
    my ($method) = $self->{rung} =~ /^(\S+)/;
    my $proxy = $members ? "<Proxy balancer://pool>\n$members    ProxySet lbmethod=$method\n</Proxy>\nProxyPass / balancer://pool/\n" : '';
    my ($certificate, $key) = $self->{tls_port} ? $self->certificate : ();
    my $tls = $certificate ? "SSLCertificateFile $certificate\nSSLCertificateKeyFile $key\n" : '';
    my $reuse = $self->{rung} =~ /no keep-alive/ ? 'off' : 'on';
    my $php = $self->{php} ? <<"END" : '';
FastCgiServer /usr/bin/php-cgi -processes $self->{php} -initial-env PHP_FCGI_MAX_REQUESTS=1000000
ProxyPass /php/ fcgi:///usr/bin/php-cgi enablereuse=$reuse
<Location /hello.php>
    SetHandler "proxy:fcgi:///usr/bin/php-cgi"
</Location>
END
    my $lua = $self->{rung} eq 'edge Lua' ? "LuaAttractRawURL $self->{site}/edge.lua\n"
        : $self->{rung} eq 'Lua pool' ? "LuaPoolProcesses $self->{php}\n<FilesMatch \\.lua>\n    SetHandler lua\n</FilesMatch>\n" : '';
    $php = $lua if $lua;
    $self->write_file('mehari.conf', <<"END");
ServerRoot $self->{folder}
DocumentRoot $self->{site}
ErrorLog $self->{folder}/error.log
CustomLog $self->{folder}/access.log combined
MaxKeepAliveRequests 0
KeepAliveTimeout 60
StartServers 1
MaxRequestWorkers 1
$tls$proxy$php
END
    return;
}

package Fronts::Nginx;
use parent -norequire, 'Peer';
sub title           { my ($self) = @_; return ref $self ? "nginx, $self->{rung}" : 'nginx' }
sub program         { return 'nginx' }
sub version_command { return (Fronts::Nginx->installed, '-v') }
sub command { my ($self) = @_; return ($self->installed, '-p', $self->{folder}, '-c', $self->file('nginx.conf'), '-g', 'daemon off;') }
sub configure {
    my ($self) = @_;
    my $identity  = $> == 0 ? 'user www-data;' : '';
    my $temporary = join "\n    ", map { "${_}_temp_path $self->{folder}/$_;" } qw(client_body proxy fastcgi uwsgi scgi);
    my $method    = $self->{rung} eq 'least_conn' ? 'least_conn;' : '';
    my $servers   = join ' ', map { "server $_;" } @{$self->{back_ends} // []};
    my $keeps     = $self->{rung} !~ /no keep-alive/;
    my ($upstream, $location) = $self->{rung} eq 'back end'
        ? ('', 'location / { default_type text/plain; return 200 "Hello, world\n"; }')
        : $self->{back_ends}
        ? ("upstream pool { zone pool 64k; $method $servers keepalive 256; keepalive_requests 1000000000; }",
           'location / { proxy_pass http://pool; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }')
        : ("upstream php { server unix:$self->{started}{socket}; " . ($keeps ? "keepalive @{[int($self->{php} / $self->{cores}) || 1]};" : '') . ' }',
           'location ~ \.php$ { include /etc/nginx/fastcgi.conf; fastcgi_pass php; ' . ($keeps ? 'fastcgi_keep_conn on; ' : '') . '}');
    $self->write_file('nginx.conf', <<"END");
$identity
worker_processes auto;
pid $self->{folder}/nginx.pid;
error_log $self->{folder}/error.log;
events { worker_connections 4096; multi_accept on; }
http {
    $temporary
    access_log $self->{folder}/access.log combined buffer=64k flush=1s;
    keepalive_requests 1000000000;
    $upstream
    server {
        listen 127.0.0.1:$self->{port} backlog=4096;
        root $self->{site};
        $location
    }
}
END
    return;
}
sub start {
    my ($self) = @_;
    $self->{started} = Fronts::Php->start($self->{folder}, $self->{php}) if $self->{php};
    return $self->SUPER::start;
}

package Fronts::Haproxy;
use parent -norequire, 'Peer';
sub title           { my ($self) = @_; return ref $self ? "HAProxy, $self->{rung}" : 'HAProxy' }
sub program         { return 'haproxy' }
sub version_command { return (Fronts::Haproxy->installed, '-v') }
sub command { my ($self) = @_; return ($self->installed, '-db', '-f', $self->file('haproxy.cfg')) }
sub configure {
    my ($self) = @_;
    my $number  = 0;
    my $servers = join '', map { $number++; "    server s$number $_ pool-max-conn 256\n" } @{$self->{back_ends}};
    $self->write_file('haproxy.cfg', <<"END");
global
    nbthread $self->{cores}
    maxconn 4096
    log $self->{folder}/log.sock local0
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option forwardfor
    option httplog
    log global
    http-reuse always
listen front
    bind 127.0.0.1:$self->{port}
    balance $self->{rung}
$servers
END
    return;
}

package Fronts::Lighttpd;
use parent -norequire, 'Peer';
sub title           { my ($self) = @_; return ref $self ? "lighttpd, $self->{rung}" : 'lighttpd' }
sub program         { return 'lighttpd' }
sub version_command { return (Fronts::Lighttpd->installed, '-v') }
sub command { my ($self) = @_; return ($self->installed, '-D', '-f', $self->file('lighttpd.conf')) }
sub configure {
    my ($self) = @_;
    my ($module, $part) = $self->{rung} eq 'mod_magnet' ? ('mod_magnet', qq{magnet.attract-raw-url-to = ("$self->{site}/edge.lua")})
        : ('mod_fastcgi', qq{fastcgi.server = (".php" => (("socket" => "$self->{started}{socket}")))});
    $self->write_file('lighttpd.conf', <<"END");
server.modules = ("mod_accesslog", "$module")
server.document-root = "$self->{site}"
server.bind = "127.0.0.1"
server.port = $self->{port}
server.errorlog = "$self->{folder}/error.log"
server.max-worker = $self->{cores}
server.max-keep-alive-requests = 1000000000
server.max-fds = 8192
server.listen-backlog = 4096
accesslog.filename = "$self->{folder}/access.log"
$part
END
    return;
}
sub start {
    my ($self) = @_;
    $self->{started} = Fronts::Php->start($self->{folder}, $self->{php});
    return $self->SUPER::start;
}

1;
