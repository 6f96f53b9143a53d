# Configures Mehari with the same scripts as Apache. The configuration is the same too, except for
# the rungs that Apache does not have.
package Peer::Mehari;
use strict;
use warnings;
use parent 'Peer';

# The path of the binary to measure. The runner sets it once.
our $BINARY = 'target/release/mehari';

sub title           { my ($self) = @_; return ref $self ? "Mehari $self->{rung}" : 'Mehari' }
sub installed       { return -x $BINARY ? $BINARY : undef }
sub program         { return $BINARY }
sub version_command { return ($BINARY, '--version') }

# `auto-100m` is the rung `auto` in a site that preloads 100 MB.
sub path_of {
    my ($class, $rung, $page) = @_;
    $rung =~ s/-\d+m\z//;
    return "/$page.html"    if $rung eq 'static' || $rung eq 'gzip';
    return "/$page"         if $rung eq 'lua';
    return "/psgi/$page"    if $rung eq 'psgi-isolated';
    return "/$rung/$page"   if $rung eq 'handler' || $rung eq 'psgi';
    return "/$rung/$page.pl";
}

sub command {
    my ($self) = @_;
    return ($BINARY, 'serve', '-f', $self->file('mehari.conf'), '--listen', ($self->{secure} ? 'https://' : '') . "127.0.0.1:$self->{port}");
}

# Returns the workers: children of the zygote, which is a child of the front.
sub workers {
    my ($self) = @_;
    my %ours = map { $_ => 1 } $self->tree;
    return grep { my $parent = (Processes::stat_fields($_))[1] // 0; $ours{$parent} && $parent != $self->{pid} } keys %ours;
}

sub configure {
    my ($self) = @_;
    $self->write_file('mehari.conf', <<"END");
Define SITE $self->{site}
ServerName localhost
ServerRoot $self->{folder}
PidFile $self->{folder}/mehari.pid
DocumentRoot $self->{site}/static
ErrorLog $self->{folder}/error.log
CustomLog $self->{folder}/access.log combined
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
StartServers $self->{workers}
MinSpareServers 1
MaxSpareServers $self->{workers}
MaxRequestWorkers $self->{workers}
MaxConnectionsPerChild 0
Include $self->{site}/perl.conf
@{[$self->tls]}
@{[$self->application]}
@{[$self->preloaded]}
@{[$self->{rung} eq 'lua' ? "LuaAttractRawURL $self->{site}/lua/hello.lua" : '']}
@{[$self->{rung} eq 'gzip' ? "AddOutputFilterByType DEFLATE text/html\nDeflateCompressionLevel 6" : '']}
Alias /cached/ $self->{site}/scripts/
Alias /fork/ $self->{site}/scripts/
Alias /auto/ $self->{site}/scripts/

<Location /cached>
    SetHandler perl-script
    PerlResponseHandler ModPerl::Registry
    PerlOptions +ParseHeaders
    Options +ExecCGI
    CacheEnable disk
</Location>

<Location /fork>
    SetHandler perl-script
    PerlResponseHandler Mehari::Fork
    PerlOptions +ParseHeaders
    Options +ExecCGI
</Location>

<Location /auto>
    SetHandler perl-script
    PerlResponseHandler Mehari::Auto
    PerlOptions +ParseHeaders
    Options +ExecCGI
</Location>
END
    return;
}

sub tls {
    my ($self) = @_;
    return '' unless $self->{secure};
    my ($certificate, $key) = $self->certificate;
    return "SSLCertificateFile $certificate\nSSLCertificateKeyFile $key\nSSLProtocol TLSv1.3";
}

# Returns configuration for the PSGI application, but only for measurements that use it. Apache does
# not load an application beside its scripts either.
sub application {
    my ($self) = @_;
    return '' unless $self->{rung} =~ /\Apsgi(-isolated)?\z/;
    my $isolation = $1 ? '    PerlIsolation rewind' : '';
    return "<Location /psgi>\n    SetHandler psgi\n    PSGIApp $self->{site}/app.psgi\n$isolation\n</Location>\n";
}

# Returns configuration that fills memory before the first fork, as the modules and tables of a
# large application do: a list of strings of a kilobyte.
sub preloaded {
    my ($self) = @_;
    my ($megabytes) = $self->{rung} =~ /-(\d+)m\z/ or return '';
    return "<Perl>\n    \@Peers::Preloaded = map { \$_ x 128 } map { sprintf '%08d', \$_ } 1 .. $megabytes * 1000;\n</Perl>\n";
}

1;
