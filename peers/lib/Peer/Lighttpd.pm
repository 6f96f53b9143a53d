# Configures lighttpd: one worker for each core, the file status cached for a second, and a buffered
# access log. It serves a small static file, a compressed file or a script of mod_magnet.
package Peer::Lighttpd;
use strict;
use warnings;
use parent 'Peer';

my %TITLE = (lua => 'lighttpd mod_magnet', gzip => 'lighttpd mod_deflate');
sub title           { my ($self) = @_; return (ref $self ? $TITLE{$self->{rung}} : undef) // 'lighttpd' }
my %MODULE = (lua => ', "mod_magnet"', gzip => ', "mod_deflate"');
sub program         { return 'lighttpd' }
sub version_command { return (Peer::Lighttpd->installed, '-v') }
sub path_of         { my ($class, $rung, $page) = @_; return "/$page.html" }

sub command { my ($self) = @_; return ($self->installed, '-D', '-f', $self->file('lighttpd.conf')) }

sub configure {
    my ($self) = @_;
    $self->write_file('lighttpd.conf', <<"END");
server.modules = ("mod_accesslog"@{[$MODULE{$self->{rung}} // '']})
server.document-root = "$self->{site}/static"
server.bind = "127.0.0.1"
server.port = $self->{port}
server.errorlog = "$self->{folder}/error.log"
server.max-worker = $self->{cores}
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 60
server.max-fds = 8192
server.listen-backlog = 4096
server.stat-cache-engine = "simple"
accesslog.filename = "$self->{folder}/access.log"
mimetype.assign = (".html" => "text/html")
@{[$self->{rung} eq 'gzip' ? $self->deflate : '']}
@{[$self->{rung} eq 'lua' ? qq{magnet.attract-raw-url-to = ("$self->{site}/lua/hello.lua")} : '']}
END
    return;
}

# Returns configuration with which lighttpd compresses each file once, into a folder.
sub deflate {
    my ($self) = @_;
    my $folder = $self->file('deflate');
    mkdir $folder or die "$folder: $!\n";
    chmod 0777, $folder;
    return qq{deflate.mimetypes = ("text/html")\ndeflate.allowed-encodings = ("gzip")\ndeflate.compression-level = 6\ndeflate.cache-dir = "$folder"\n};
}

1;
