# A handler against the steps of Apache::Registry
# Answers: the mod_perl guide, Performance Tuning, where it compares Apache::Registry with a handler
# of one's own (light).
# Learn: the steps before the script's own code cost the same for each script: they matter for
# light pages only. Mehari watches the file and skips them.

# Milliseconds of a request.
# published: handler 15
# published: registry 21
# results: equal

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);
my ($uri, $file, %compiled) = ('/perl/page.pl', __FILE__);

sub _page {
    print "Content-Type: text/plain\n\nHello";
    return;
}

# Which package, is the file there, has it changed, and the folder of the script.
sub _registry {
    (my $package = "Registry$uri") =~ s/(\W)/sprintf '_%02x', ord $1/ge;
    die if !-r $file || !-s _;
    my $changed = -M _;
    my $known = $compiled{$package};
    if (!$known || $known->{changed} != $changed) {
        $known = $compiled{$package} = { code => \&_page, changed => $changed };
    }
    my $before = Cwd::getcwd();
    chdir dirname($file) or die;
    $known->{code}->();
    chdir $before or die;
    return;
}

sub handler  { _page() }
sub registry { _registry() }
