# Checks the POD of every module: it exists, it is well formed, and the methods that it names exist.

use strict;
use warnings;
use Test::More;
use File::Basename qw(dirname);
use File::Find qw(find);
use Pod::Checker ();
use Pod::Simple::SimpleTree ();

my $lib = dirname(__FILE__) . '/../lib';

# heading => the class of the methods below it. Other headings are about the module itself.
my %CLASS = (
    'METHODS OF THE REQUEST'    => 'Apache2::RequestRec',
    'METHODS OF THE SERVER'     => 'Apache2::ServerRec',
    'METHODS OF THE CONNECTION' => 'Apache2::Connection',
    'METHODS OF THE JAR'        => 'Apache2::Cookie::Jar',
);
my $METHODS = qr/\A(?:CLASS )?METHODS(?: OF THE \w+)?\z|\AFUNCTIONS\z/;

sub text { my ($node) = @_; return ref $node ? join '', map { text($_) } @$node[2 .. $#$node] : $node }

# Returns the sections in order, each as [title, items, verbatim text, other text].
sub sections {
    my ($file) = @_;
    my (undef, undef, @nodes) = @{ Pod::Simple::SimpleTree->new->parse_file($file)->root };
    my @sections;
    for my $node (@nodes) {
        if ($node->[0] eq 'head1') { push @sections, [text($node), [], '', ''] }
        elsif (!@sections) { next }
        elsif ($node->[0] eq 'over-text') { push @{ $sections[-1][1] }, map { text($_) } grep { ref eq 'ARRAY' && $_->[0] eq 'item-text' } @$node }
        elsif ($node->[0] eq 'Verbatim') { $sections[-1][2] .= text($node) . "\n" }
        else { $sections[-1][3] .= text($node) . "\n" }
    }
    return @sections;
}

# Returns the names of methods in an item. `name(ARGUMENTS), other` has two names.
sub names { my ($item) = @_; 1 while $item =~ s/\([^()]*\)//; return $item =~ /(?:\A|,)\s*(\w+)/g }

sub is_perl { return $_[0] !~ /\A\s*(?:<|#! |mehari |plackup |[A-Z]\w+ )/ }

# Returns the missing file that an error message names, unless the file is one of ours.
sub is_missing { return $_[0] =~ /Can't locate (\S+) in \@INC/ && !-e "$lib/$1" && !-e "$lib/Mehari/compat/$1" ? $1 : undef }

# Compiles a synopsis. The modules that the synopsis uses are loaded.
sub compiles {
    my ($code, $name) = @_;
    local $SIG{__WARN__} = sub { };
    my $done = eval "package Synopsis; no strict; no warnings; sub { $code\n}";
    my $problem = $@;
    SKIP: {
        skip "$name: " . is_missing($problem) . ' is not installed', 1 if !$done && is_missing($problem);
        ok($done, "$name: the synopsis compiles") or diag $problem;
    }
}

sub check {
    my ($module, $file) = @_;
    open my $errors, '>', \my $said;
    my $checker = Pod::Checker->new(-warnings => 1);
    $checker->parse_from_file($file, $errors);
    is($checker->num_errors + $checker->num_warnings, 0, "$module: well formed") or diag $said;
    my @sections = sections($file);
    my %section = map { $_->[0] => $_ } @sections;
    my ($name, $about) = ($section{NAME}[3] // '') =~ /\A(\S+) - (.+)/;
    is($name, $module, "$module: NAME");
    return if defined $about && $about eq 'internal';
    ok($section{SYNOPSIS} && $section{SYNOPSIS}[2] =~ /\S/, "$module: SYNOPSIS") and is_perl($section{SYNOPSIS}[2]) and compiles($section{SYNOPSIS}[2], $module);
    ok($section{DESCRIPTION} && $section{DESCRIPTION}[3] =~ /\S/, "$module: DESCRIPTION");
    my @parts = grep { $_->[0] =~ $METHODS } @sections;
    SKIP: {
        my $loads = !@parts || eval { require(($module =~ s{::}{/}gr) . '.pm') };
        skip "$module: " . is_missing($@) . ' is not installed', 1 if !$loads && is_missing($@);
        my @missing = $loads ? () : ($@);
        for my $part ($loads ? @parts : ()) {
            my $class = $CLASS{ $part->[0] } // $module;
            push @missing, grep { !$class->can($_) } map { names($_) } @{ $part->[1] };
        }
        is("@missing", '', "$module: what it documents exists");
    }
}

my %file;
find({ no_chdir => 1, wanted => sub { $file{ s{\A\Q$lib\E/(?:Mehari/compat/)?}{}r =~ s/\.\w+\z//r =~ s{/}{::}gr } = $_ if /\.(?:pm|pod)\z/ } }, $lib);
cmp_ok(scalar keys %file, '>', 100, 'there are modules');
check($_, $file{$_}) for sort keys %file;

# The POD keeps to 100 columns.
for my $module (sort keys %file) {
    open my $in, '<', $file{$module} or die $!;
    my @wide;
    while (my $line = <$in>) { push @wide, $. if ($line =~ /\A=\w/ .. $line =~ /\A=cut/) && length $line > 101 }
    is("@wide", '', "$module: at most 100 columns");
}

# The POD of a module documents every method that ModPerl::MethodLookup lists for the module.
require ModPerl::MethodLookup;
for my $module (ModPerl::MethodLookup::avail_modules()) {
    open my $in, '<', $file{$module} or die "$module: $!";
    my $text = do { local $/; <$in> };
    my ($pod) = $text =~ /^(=head1 NAME\n.*?)^=cut/ms;
    my (undef, @methods) = ModPerl::MethodLookup::lookup_module($module);
    is(join(' ', grep { $_ ne 'DESTROY' && ($pod // '') !~ /\b$_\b/ } @methods), '', "$module: its methods are documented");
}

done_testing;
