package BuiltRoot;
# A Debian root (DebianRoot.pm) with a clone of the last commit in /srv/mehari, in which mehari and
# the tests of the rungs are built. tests/perls and tests/kernels use this module.
#
# The root of the oldest suite builds. The roots of later suites begin with this build, because a
# newer glibc runs it. Roots and the build are kept in target/perls for the next run, which builds
# only what the commits since then have changed.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
require(abs_path(dirname(__FILE__)) . '/DebianRoot.pm');

our @ISA     = 'DebianRoot';
my $CHECKOUT = abs_path(dirname(__FILE__) . '/../..');
my $KEPT     = "$CHECKOUT/target/perls";
my @SUITES   = qw(bullseye bookworm trixie sid);
my %BUILD    = (CARGO_TERM_COLOR => 'never', CARGO_PROFILE_DEV_DEBUG => 0, CARGO_PROFILE_TEST_DEBUG => 0);
my $built;

sub kept { return $KEPT }

# The environment of the tests in the root.
sub environment { return (%BUILD, MEHARI_BIN => '/srv/mehari/target/debug/mehari') }

# The place of a suite in the order. Call `new` for the oldest suite first.
sub place {
    my ($suite) = @_;
    my ($place) = grep { $SUITES[$_] eq $suite } 0 .. $#SUITES;
    return $place;
}

# Makes a root with a clone and the packages of these lists in packaging/needs. Dies if this fails.
sub new {
    my ($class, $suite, @lists) = @_;
    DebianRoot::keep($KEPT);
    my $self = $class->SUPER::new($suite, packages(@lists));
    $self->bring('mehari');
    return $self;
}

sub packages {
    my %names;
    for my $list (@_) {
        open my $lines, '<', "$CHECKOUT/packaging/needs/$list" or die "tests: packaging/needs/$list: $!\n";
        /^\s*([^\s#]+)/ and $names{$1} = 1 for <$lines>;
    }
    return sort keys %names;
}

# Builds mehari and the tests of these suites; without any, all tests of the rungs. The build begins
# with that of this run's first root, or with the newest kept build of this suite or an older one.
# The first root's build is kept.
sub build {
    my ($self, @suites) = @_;
    my ($newest) = $built // sort { -M $a <=> -M $b } grep { -e } map { "$KEPT/crates-$_.tar" } @SUITES[0 .. place($self->{suite})];
    $self->restore($newest) if defined $newest;
    $self->believe;
    my $said = '';
    my $status = $self->run('{ cargo build --locked -p mehari && perl tests/all --perl-side --no-run ' . "@suites; } 2>&1", \%BUILD, sub { $said .= $_[0] });
    if (!$built) {
        $self->in_place('git -C srv/mehari rev-parse HEAD >srv/mehari/target/commit') unless $status;
        $built = "$KEPT/crates-$self->{suite}.tar";
        $self->save($built, 'srv/mehari/target');
    }
    die "mehari does not build there:\n$said\n" if $status;
}

# Cargo compares times, and a new clone is newer than every build. The files that have not changed
# since the commit of the kept build become older than it.
sub believe {
    my ($self) = @_;
    $self->in_place(q{cd srv/mehari; [ -e target/commit ] || exit 0
        if git diff -z --name-only "$(cat target/commit)" HEAD >target/changed; then
            find . \( -path ./target -o -path ./.git \) -prune -o -type f -exec touch -d 2000-01-01 {} +
            xargs -r0 touch -c <target/changed
        fi
        rm target/commit target/changed});
}

1;
