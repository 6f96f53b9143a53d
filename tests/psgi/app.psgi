# The applications of Plack::Test::Suite. The field X-Plack-Test chooses one.
use strict;
use warnings;
use Plack::Middleware::Lint;
use Plack::Test::Suite;

Plack::Middleware::Lint->wrap(Plack::Test::Suite->test_app_handler);
