package Apache::Peek;

# Sends the dumps of Devel::Peek to the client instead of to the error log.

use strict;
use warnings;
use Devel::Peek ();
use Exporter ();
use File::Temp ();

our $VERSION   = '1.00';
our @ISA       = 'Exporter';
our @EXPORT    = qw(Dump mstat DeadCode DumpArray);
our @EXPORT_OK = qw(SvREFCNT);

*SvREFCNT = \&Devel::Peek::SvREFCNT;

# @_ holds the caller's variables themselves, not copies of them.
sub Dump {
    my $limit = $_[1] // 4;
    return to_client(sub { Devel::Peek::Dump($_[0], $limit) }, $_[0]);
}

sub DumpArray { return to_client(sub { Devel::Peek::DumpArray(shift, @_) }, @_) }

sub mstat { return to_client(sub { Devel::Peek::mstat($_[0]) }, @_) }

sub DeadCode { return to_client(sub { Devel::Peek::DeadCode() }) }

# Devel::Peek writes in C to STDERR: only a real file can take its place.
sub to_client {
    my $dumps = shift;
    my $file  = File::Temp->new;
    open my $errors, '>&', \*STDERR or die "Apache::Peek: cannot copy STDERR: $!\n";
    open STDERR, '>&', $file or die "Apache::Peek: cannot redirect STDERR: $!\n";
    my $is_dumped = eval { &$dumps; 1 };
    my $problem = $@;
    open STDERR, '>&', $errors or die "Apache::Peek: cannot restore STDERR: $!\n";
    die $problem unless $is_dumped;
    seek $file, 0, 0;
    print while <$file>;
    return;
}

1;

__END__

=head1 NAME

Apache::Peek - dump Perl's data to the client

=head1 SYNOPSIS

    use Apache::Peek;
    my $value = 'Chris';
    Dump($value);

=head1 DESCRIPTION

This module has the interface of Apache::Peek: L<Devel::Peek> with its output in the response. If
two workers (the processes that run Perl code) print the same addresses for a variable, they share
its memory. They do not share it any more if one of them has written to that memory page since the
fork.

=head1 FUNCTIONS

=over 4

=item Dump($value, $limit)

Dumps a value. A structure is followed C<$limit> levels deep, 4 by default.

=item DumpArray($limit, @values)

Dumps several values.

=item mstat($text), DeadCode

As in L<Devel::Peek>.

=item SvREFCNT($value)

The number of references. It is exported on request.

=back

=cut
