# Configures Apache 2.4 with mod_perl and mod_cgi. Apache uses the MPM prefork, the best one for
# mod_perl, with one child for each open connection and a buffered access log. No child starts or
# ends during a measurement.
package Peer::Apache;
use strict;
use warnings;
use parent 'Peer';

my %TITLE = (cgi => 'mod_cgi', perlrun => 'ModPerl::PerlRun', registry => 'ModPerl::Registry', handler => 'mod_perl handler');

sub title           { my ($self) = @_; return ref $self ? $TITLE{$self->{rung}} : 'Apache + mod_perl' }
sub program         { return 'apache2' }
sub version_command { return (Peer::Apache->installed, '-v') }

sub path_of {
    my ($class, $rung, $page) = @_;
    return $rung eq 'handler' ? "/handler/$page" : "/$rung/$page.pl";
}

sub command {
    my ($self) = @_;
    return ($self->installed, '-f', $self->file('httpd.conf'), '-DFOREGROUND');
}

# All children are workers. The programs of mod_cgi have ended before the processes are counted.
sub configure {
    my ($self) = @_;
    my $children = $self->{connections} + 4;
    my $modules  = '/usr/lib/apache2/modules';
    my $load = join '', map { "LoadModule ${_}_module $modules/mod_$_.so\n" }
        qw(mpm_prefork authz_core mime dir alias env cgi perl);
    # If root starts Apache, its children need another user: Apache refuses to run them as root.
    my $identity = $> == 0 ? "User www-data\nGroup www-data\n" : '';
    $self->write_file('httpd.conf', <<"END");
Define SITE $self->{site}
$load
$identity
Listen 127.0.0.1:$self->{port}
ServerName localhost
ServerRoot $self->{folder}
PidFile $self->{folder}/httpd.pid
Mutex file:$self->{folder} default
DocumentRoot $self->{site}/static
TypesConfig /etc/mime.types
ErrorLog $self->{folder}/error.log
LogFormat "%h %l %u %t \\"%r\\" %>s %b \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
BufferedLogs On
CustomLog $self->{folder}/access.log combined
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
StartServers $children
MinSpareServers 1
MaxSpareServers $children
ServerLimit $children
MaxRequestWorkers $children
MaxConnectionsPerChild 0
Include $self->{site}/perl.conf
END
    return;
}

1;
