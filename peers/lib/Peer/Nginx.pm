# Configures nginx: one worker for each core, static files and a `return 200`, and a buffered access
# log. On the rung `threads`, nginx's threads read the files. On the rung `gzip`, nginx compresses
# text/html.
package Peer::Nginx;
use strict;
use warnings;
use parent 'Peer';

my %TITLE = (return => 'nginx return 200', threads => 'nginx, aio threads', gzip => 'nginx gzip');
sub title           { my ($self) = @_; return (ref $self ? $TITLE{$self->{rung}} : undef) // 'nginx' }
sub program         { return 'nginx' }
sub version_command { return (Peer::Nginx->installed, '-v') }
sub path_of         { my ($class, $rung, $page) = @_; return $rung eq 'return' ? '/return' : "/$page.html" }

sub command { my ($self) = @_; return ($self->installed, '-p', $self->{folder}, '-c', $self->file('nginx.conf'), '-g', 'daemon off;') }

sub configure {
    my ($self) = @_;
    my $identity = $> == 0 ? 'user www-data;' : '';
    my $temporary = join "\n    ", map { "${_}_temp_path $self->{folder}/$_;" } qw(client_body proxy fastcgi uwsgi scgi);
    my ($secure, $tls) = $self->{secure} ? $self->tls : ('', '');
    my $aio  = $self->{rung} eq 'threads' ? 'aio threads;' : '';
    my $gzip = $self->{rung} eq 'gzip' ? 'gzip on; gzip_comp_level 6;' : '';
    $self->write_file('nginx.conf', <<"END");
$identity
worker_processes auto;
pid $self->{folder}/nginx.pid;
error_log $self->{folder}/error.log;
events { worker_connections 4096; multi_accept on; }
http {
    $temporary
    include /etc/nginx/mime.types;
    access_log $self->{folder}/access.log combined buffer=64k flush=1s;
    sendfile on;
    $aio
    $gzip
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=60s;
    server {
        listen 127.0.0.1:$self->{port} backlog=4096$secure;
        $tls
        root $self->{site}/static;
        location = /return { default_type text/plain; return 200 "Hello, world\\n"; }
    }
}
END
    return;
}

# Returns the parameters of `listen`, and the lines for TLS and HTTP/2.
sub tls {
    my ($self) = @_;
    my ($certificate, $key) = $self->certificate;
    my $words = ' ssl' . ($self->{http2} ? ' http2' : '');
    return ($words, "ssl_certificate $certificate; ssl_certificate_key $key; ssl_protocols TLSv1.3; ssl_session_cache shared:peers:1m;"
        . ' http2_max_requests 1000000000; http2_max_concurrent_streams 128;');
}

1;
