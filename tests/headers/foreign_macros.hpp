// Names that headers of others define as macros. Whoever includes those first still has to be able to include ours.

// windows.h
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define DELETE (0x00010000L)
#define NO_ERROR 0L
#define DIFFERENCE 11
#define ABSOLUTE 1
#define RELATIVE 2

// X11/X.h, X11/Xlib.h
#define Success 0
#define None 0L
#define Bool int
#define True 1
#define False 0
#define Status int
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2
#define CurrentTime 0L
#define CursorShape 0
#define FocusIn 9
#define Unsorted 0

// Qt
#define slots
#define signals public
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)

// AssertMacros.h of macOS, and its Objective-C
#define check(assertion)
#define verify(assertion)
#define require(assertion, label)
#define nil 0

// sys/sysmacros.h, complex.h, and macros for debugging
#define major(device) (device)
#define minor(device) (device)
#define I (__extension__ 1.0iF)
#define DEBUG 1
