# lighttpd: one worker a core, a small static file or a script of mod_magnet, the file's status cached for a second, its access log buffered.
package Peer::Lighttpd;
use strict;
use warnings;
use parent 'Peer';

sub title           { my ($self) = @_; return ref $self && $self->{rung} eq 'lua' ? 'lighttpd mod_magnet' : 'lighttpd' }
sub program         { return 'lighttpd' }
sub version_command { return (Peer::Lighttpd->installed, '-v') }
sub path_of         { my ($class, $rung, $page) = @_; return "/$page.html" }

sub command { my ($self) = @_; return ($self->installed, '-D', '-f', $self->file('lighttpd.conf')) }

sub configure {
    my ($self) = @_;
    $self->write_file('lighttpd.conf', <<"END");
server.modules = ("mod_accesslog"@{[$self->{rung} eq 'lua' ? ', "mod_magnet"' : '']})
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
@{[$self->{rung} eq 'lua' ? qq{magnet.attract-raw-url-to = ("$self->{site}/lua/hello.lua")} : '']}
END
    return;
}

1;
