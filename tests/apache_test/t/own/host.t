use strict;
use warnings;
use Apache::Test;
use Apache::TestUtil;
use Apache::TestRequest qw(GET_BODY_ASSERT);

my $config = Apache::Test::config();
Apache::TestRequest::module('TestOwn::host');
my $hostport = Apache::TestRequest::hostport($config);
t_debug("connecting to $hostport");
print GET_BODY_ASSERT "http://$hostport/TestOwn__host";
