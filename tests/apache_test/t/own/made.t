use strict;
use warnings;
use Apache::TestRequest qw(GET_BODY_ASSERT);
print GET_BODY_ASSERT '/made';
