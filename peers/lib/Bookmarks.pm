# Configures MyBookmarks under Apache and under Mehari, in the six configurations of "Apache::ASP
# Site Tuning" (Joshua Chamas, 1999). Each configuration changes one setting of the previous one.
# The application is the copy in Debian's package. Both servers get the same files.
package Bookmarks;
use strict;
use warnings;

our $APPLICATION = '/usr/share/doc/libapache-asp-perl/html/apps/bookmarks';

# The name, the change, and the figure of the article's machine, which shows the order of magnitude.
our @LADDER = (
    {name => 'first',                  article => 6.5,   set => {htaccess => 1, debug => 1, requests => 50, serialize => 0, state => 'disk'}},
    {name => 'StateDir in RAM',        article => 14.1,  set => {state => 'memory'}},
    {name => 'Debug 0',                article => 15.8,  set => {debug => 0}},
    {name => 'no .htaccess',           article => 17.3,  set => {htaccess => 0}},
    {name => 'MaxRequestsPerChild 500', article => 22.8, set => {requests => 500}},
    {name => 'SessionSerialize 1',     article => 25.74, set => {serialize => 1}},
    {name => 'StateDB Mehari::State',  ours => 1,        set => {store => 'Mehari::State'}},
);

# Returns the settings of each configuration, including those of the configurations before it.
sub rungs {
    my %now;
    return map { %now = (%now, %{$_->{set}}); +{%$_, settings => {%now}} } @LADDER;
}

# Makes the folders for a server, to which the server's user may write. `folder` is the server's own
# folder. Returns the path of the folder for the state.
sub prepare {
    my ($folder, $settings, $memory) = @_;
    my $state = $settings->{state} eq 'memory' ? "$memory/state" : "$folder/state";
    for my $made ("$folder/app", $state) {
        mkdir $made or die "$made: $!\n";
    }
    chmod 0777, $state or die "$state: $!\n";
    system('sh', '-c', 'cp "$1"/* "$2"/', 'sh', $APPLICATION, "$folder/app") == 0 or die "cannot copy $APPLICATION\n";
    my $own = $settings->{htaccess} ? 'All' : 'None';
    my $files = files_section($folder, $settings, $state);
    if ($settings->{htaccess}) {
        open my $file, '>', "$folder/app/.htaccess" or die "$folder/app/.htaccess: $!\n";
        print {$file} $files;
        close $file or die "$folder/app/.htaccess: $!\n";
    }
    my $here = $settings->{htaccess} ? '' : $files;
    return <<"END";
PerlModule Apache::ASP
PerlModule DBI
PerlModule DBD::SQLite
Alias /bookmarks/ $folder/app/
<Directory $folder/app>
    AllowOverride $own
    Require all granted
$here</Directory>
StartServers 5
MinSpareServers 5
MaxSpareServers 5
MaxRequestWorkers 5
MaxConnectionsPerChild $settings->{requests}
END
}

sub files_section {
    my ($folder, $settings, $state) = @_;
    my $store = $settings->{store} ? "    PerlSetVar StateDB $settings->{store}\n" : '';
    return <<"END";
<Files ~ \\.asp\$>
    SetHandler perl-script
    PerlHandler Apache::ASP
    PerlSetVar Global $folder/app
    PerlSetVar GlobalPackage My::Bookmarks
    PerlSetVar StateDir $state
    PerlSetVar Debug $settings->{debug}
    PerlSetVar SessionSerialize $settings->{serialize}
    PerlSetVar SessionTimeout 15
    PerlSetVar StatScripts On
    PerlSetVar AllowApplicationState On
    PerlSetVar AllowSessionState On
$store</Files>
END
}

package Bookmarks::Apache;
use parent -norequire, 'Peer::Apache';

sub title { return 'Apache' }

sub configure {
    my ($self) = @_;
    my $load = join '', map { "LoadModule ${_}_module /usr/lib/apache2/modules/mod_$_.so\n" }
        qw(mpm_prefork authz_core mime dir alias env perl);
    my $identity = $> == 0 ? "User www-data\nGroup www-data\n" : '';
    $self->write_file('httpd.conf', <<"END" . $self->{text});
$load$identity
Listen 127.0.0.1:$self->{port}
ServerName localhost
ServerRoot $self->{folder}
PidFile $self->{folder}/httpd.pid
Mutex file:$self->{folder} default
DocumentRoot $self->{folder}/app
TypesConfig /etc/mime.types
ErrorLog $self->{folder}/error.log
LogFormat "%h %l %u %t \\"%r\\" %>s %b" common
BufferedLogs On
CustomLog $self->{folder}/access.log common
ServerLimit 5
END
    return;
}

package Bookmarks::Mehari;
use parent -norequire, 'Peer::Mehari';

sub title { return 'Mehari' }

sub configure {
    my ($self) = @_;
    $self->write_file('mehari.conf', <<"END" . $self->{text});
ServerName localhost
ServerRoot $self->{folder}
PidFile $self->{folder}/mehari.pid
DocumentRoot $self->{folder}/app
ErrorLog $self->{folder}/error.log
CustomLog $self->{folder}/access.log common
END
    return;
}

1;
