package TestStart::phases;

# Handlers of OpenLogs and PostConfig, for the server and for a virtual host. Each leaves a file.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use APR::Table ();
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use File::Spec::Functions qw(catfile catdir);
use File::Path qw(mkpath);
use Apache2::Const -compile => 'OK';

my $folder = catdir Apache::Test::vars('documentroot'), 'start';

sub open_logs   { return _note('open_logs',   @_) }
sub post_config { return _note('post_config', @_) }

sub _note {
    my ($phase, $configuration, $logs, $temporary, $s) = @_;
    ref $_ eq 'APR::Pool' or die "not a pool: $_" for $configuration, $logs, $temporary;
    for (; $s; $s = $s->next) {
        my $value = $s->dir_config->{Start} or next;
        next if $s->is_virtual && $value ne 'Host';
        mkpath $folder, 0, 0755;
        my $file = catfile $folder, "$phase-" . $s->port;
        open my $out, ">$file" or die "can't open $file: $!";
        print $out $value;
        close $out;
    }
    return Apache2::Const::OK;
}

sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    my $s = $r->server;
    for my $phase (qw(open_logs post_config)) {
        my $file = catfile $folder, "$phase-" . $s->port;
        open my $in, $file or die "can't open $file: $!";
        $r->print("$phase ", scalar(<$in>), "\n");
    }
    return Apache2::Const::OK;
}
1;
__DATA__
<NoAutoConfig>
<VirtualHost TestStart::phases>
    PerlSetVar Start Host
    PerlPostConfigHandler TestStart::phases::post_config
    PerlOpenLogsHandler   TestStart::phases::open_logs
</VirtualHost>
PerlSetVar Start Main
PerlModule TestStart::phases
PerlPostConfigHandler TestStart::phases::post_config
PerlOpenLogsHandler   TestStart::phases::open_logs
<Location /TestStart__phases>
    SetHandler modperl
    PerlResponseHandler TestStart::phases
</Location>
</NoAutoConfig>
