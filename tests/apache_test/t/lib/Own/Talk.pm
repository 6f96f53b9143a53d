package Own::Talk;

# Talks with a host of the suite: sends each line, and compares the answer with the expected
# one.
use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest;

sub connected {
    my ($module) = @_;
    my $socket = Apache::TestRequest::vhost_socket($module) or die "no connection to $module: $!";
    $socket->autoflush(1);
    return $socket;
}

sub asks {
    my ($socket, @pairs) = @_;
    while (my ($sent, $expected) = splice @pairs, 0, 2) {
        print $socket $sent;
        ok t_cmp(scalar(<$socket>), $expected, 'what is answered to ' . ($sent =~ s/\s+\z//r));
    }
    return;
}

1;
