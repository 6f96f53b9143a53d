package Apache2::Filter::Next;

# What stands behind a filter, for one that works on brigades: it has the data that come, or takes those that go.

use strict;
use warnings;
use APR::Brigade       ();
use Apache2::FilterRec ();

sub of { my ($class, $filter) = @_; return bless { filter => $filter }, $class }

# get_brigade($brigade, $mode, $block, $bytes): the piece, and the end behind the last.
sub get_brigade {
    my ($self, $brigade) = @_;
    my $filter = $self->{filter};
    $filter->_fill($brigade);
    $filter->{at} = length $filter->{piece};
    return 0;
}

# pass_brigade($brigade): its data go on; it is empty afterwards.
sub pass_brigade {
    my ($self, $brigade) = @_;
    my $filter = $self->{filter};
    $brigade->flatten(my $text);
    $filter->{made} .= $text;
    $filter->{at} = length $filter->{piece};
    $brigade->cleanup;
    return 0;
}

# The server's own: there is nothing behind it, and it stays.
sub next   { return undef }
sub remove { return }
sub frec   { return Apache2::FilterRec->new('core') }

1;
