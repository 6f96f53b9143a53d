# The applications of Plack::Test::Suite behind one door; X-Plack-Test says which.
use strict;
use warnings;
use Plack::Middleware::Lint;
use Plack::Test::Suite;

Plack::Middleware::Lint->wrap(Plack::Test::Suite->test_app_handler);
